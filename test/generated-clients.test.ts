import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compile } from './compiler.ts'
import { longForm } from './needs.ts'
import { installedTools, runTool as run } from './openapi-tools/installed.ts'
import { apiKey, startPlatform } from './platform.ts'
import { temporaryFolder } from './servers.ts'

// The OpenAPI document as generators read it: those of docs/generated-clients.md, whose commands and programs run as they
// are written there. Long form: a release does it (RELEASE.md). Each run checks the document itself (openapi.test.ts,
// openapi-tools.test.ts).

const root = join(import.meta.dirname, '..')
const { modules, skip } = longForm().skip ? { modules: '', skip: longForm().skip } : installedTools('generators')

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
