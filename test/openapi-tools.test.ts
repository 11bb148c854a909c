import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openapiFile } from '../scripts/openapi.ts'
import { compile, programs } from './compiler.ts'
import { installedTools } from './openapi-tools/installed.ts'
import { apiKey, startPlatform } from './platform.ts'
import { temporaryFolder } from './servers.ts'

// The OpenAPI document as others read it: two linters with their recommended rules, and the generators of
// docs/generated-clients.md, whose commands and programs run as they are written there.

const root = join(import.meta.dirname, '..')
const { modules, skip } = installedTools()

const run = async (program: string, args: readonly string[], cwd: string, more: Record<string, string> = {}) => {
  const env = {
    ...process.env,
    // The bundled Node: the generators need 22.18.
    PATH: [programs, process.env.PATH].join(delimiter),
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    ...more,
  }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(child.exitCode, 0, `${program} ${args.join(' ')}\n${output}${errors}`)
  return output
}

test('Redocly finds neither an error nor a warning in openapi.json', { skip }, async () => {
  const report = await run(join(modules, '.bin/redocly'), ['lint', '--format=json', openapiFile], root)
  const { totals, problems } = JSON.parse(report)
  assert.deepEqual([totals.errors, totals.warnings], [0, 0], JSON.stringify(problems, null, 2))
})

test('Spectral finds nothing in openapi.json, not even a hint', { skip }, async () => {
  await run(join(modules, '.bin/spectral'), ['lint', '--fail-severity=hint', openapiFile], root)
})

const page = readFileSync(join(root, 'docs/generated-clients.md'), 'utf8')
const [start = '', ...sections] = page.split(/^## /m)

/** Commands of a section, without those that install. */
const commandsOf = (section: string): string[] =>
  [...section.matchAll(/^```sh\n(.*?)^```/gms)]
    .flatMap(([, code = '']) => code.trim().split('\n'))
    .filter((line) => !line.startsWith('npm install '))

/** Files of a section: the name before each block, and its content. */
const filesOf = (section: string): [string, string][] =>
  [...section.matchAll(/^`([\w.-]+)`:\n\n```(?:ts|js)\n(.*?)^```/gms)].map(([, name = '', code = '']) => [name, code])

test('the clients of docs/generated-clients.md compile under strict types, and each sends a message', {
  skip,
}, async (t) => {
  const platform = await startPlatform()
  t.after(() => platform.end())
  const env = { TRUNKLINE_URL: platform.url, TRUNKLINE_API_KEY: apiKey }
  const project = temporaryFolder()
  symlinkSync(modules, join(project, 'node_modules'))
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  for (const command of commandsOf(start)) await run('sh', ['-c', command], project, env)
  assert.equal(sections.length, 3)
  for (const section of sections) {
    const files = filesOf(section)
    for (const [name, code] of files) writeFileSync(join(project, name), code)
    for (const command of commandsOf(section)) await run('sh', ['-c', command], project, env)
    const [program = assert.fail(section)] = files.map(([name]) => name).filter((name) => name.endsWith('.ts'))
    const isExact = !section.includes('does not compile with `exactOptionalPropertyTypes`')
    const { status, stdout } = compile(
      [
        ...['--strict', '--noUncheckedIndexedAccess', ...(isExact ? ['--exactOptionalPropertyTypes'] : [])],
        ...['--module', 'nodenext', '--target', 'es2023', '--lib', 'esnext,dom,dom.iterable'],
        ...['--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), '--outDir', 'out', program],
      ],
      project,
    )
    assert.equal(status, 0, stdout)
    const [id = '', header] = (await run('node', [join('out', program.replace('.ts', '.js'))], project, env)).split(
      '\n',
    )
    const { body } = await platform.call('GET', `/open/sms/message/${id}`)
    assert.match(body.message.text, /^From /)
    assert.match(header ?? '', /^uuid,/)
  }
})
