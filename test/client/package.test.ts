import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { compile } from '../compiler.ts'
import { openChromium } from '../sdk/tab.ts'
import { temporaryFolder } from '../servers.ts'
import { makeWorld } from '../world.ts'

// The package as it is published: its size, its two formats, its types, its README, and a browser.

const root = join(import.meta.dirname, '../..')
const source = join(root, 'packages/client')
const project = temporaryFolder()
const installed = join(project, 'node_modules/@trunkline/client')
mkdirSync(installed, { recursive: true })
cpSync(join(source, 'package.json'), join(installed, 'package.json'))
const built = spawnSync(process.execPath, [join(source, 'build.mjs'), join(installed, 'dist')], { encoding: 'utf8' })
assert.equal(built.status, 0, built.stderr)
const declared = spawnSync(
  process.execPath,
  [join(root, 'packages/declarations.mjs'), source, join(installed, 'dist/types')],
  { encoding: 'utf8' },
)
assert.equal(declared.status, 0, declared.stderr)

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const baseUrl = await world.app.listen({ host: '127.0.0.1', port: 0 })

const run = (file: string, code: string) => {
  writeFileSync(join(project, file), code)
  return spawnSync(process.execPath, [file], { cwd: project, encoding: 'utf8' })
}

test('the module is at most 12 KB with all operations of an account', () => {
  const size = gzipSync(readFileSync(join(installed, 'dist/index.mjs')), { level: 9 }).length
  assert.ok(size > 2_000 && size <= 12_000, `${size} bytes`)
})

test('the module and the CommonJS form export the same names', () => {
  const print = 'console.log(Object.keys(client).sort().join())'
  const module = run('names.mjs', `import * as client from '@trunkline/client'\n${print}`)
  const required = run('names.cjs', `const client = require('@trunkline/client')\n${print}`)
  assert.match(module.stdout, /ApiError,.*Trunkline,.*verifyWebhook/)
  assert.equal(module.stdout, required.stdout)
})

test('the examples of the README compile under strict types, and the first one runs', async () => {
  const readme = readFileSync(join(source, 'README.md'), 'utf8')
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code)
  assert.ok(examples.length >= 3)
  examples.forEach((code, i) => {
    writeFileSync(join(project, `example-${i}.mts`), code)
  })
  symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/undici-types'), join(project, 'node_modules/undici-types'))
  const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2023']
  const files = examples.map((_, i) => `example-${i}.mts`)
  const more = ['--lib', 'esnext,dom,dom.iterable', '--types', 'node', '--skipLibCheck', 'false']
  const { status, stdout } = compile([...flags, ...more, ...files], project)
  assert.equal(status, 0, stdout)
  const { key } = await world.tenant()
  const env = { ...process.env, TRUNKLINE_API_KEY: key, TRUNKLINE_URL: baseUrl }
  const child = spawn(process.execPath, ['example-0.mts'], { cwd: project, env })
  const [output, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  assert.equal(code, 0, error)
  assert.match(output, /Ada/)
})

test('a wrong field and a wrong operation are errors of the compiler', () => {
  const page = `import { Trunkline } from '@trunkline/client'
const trunkline = new Trunkline()
await trunkline.sms.send({ from_number: '', to_number: '', body: '' })
await trunkline.sms.shout({})
const { message_uuid } = await trunkline.sms.send({ from_number: '', to_number: '', text: '' })
export const shown: string = message_uuid
`
  writeFileSync(join(project, 'wrong.mts'), page)
  const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2023']
  const more = ['--lib', 'esnext,dom,dom.iterable', '--types', '']
  const { status, stdout } = compile([...flags, ...more, 'wrong.mts'], project)
  assert.notEqual(status, 0)
  assert.deepEqual(
    [...stdout.matchAll(/^wrong\.mts\((\d+),\d+\): error TS\d+: (.*)$/gm)].map(([, line, text = '']) => [
      line,
      /body|shout/.exec(text)?.[0],
    ]),
    [
      ['3', 'body'],
      ['4', 'shout'],
    ],
  )
})

test('a page in Chromium calls the platform that served it', async (t) => {
  const browser = await openChromium()
  t.after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${baseUrl}/healthz`)
  const { key } = await world.tenant()
  const code = readFileSync(join(installed, 'dist/index.mjs'), 'utf8')
  const answer = await page.evaluate(
    `(async () => {
      const address = URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/javascript' }))
      const { Trunkline } = await import(address)
      const client = new Trunkline({ apiKey: ${JSON.stringify(key)}, baseUrl: location.origin, dangerouslyAllowBrowser: true })
      await client.contacts.create({ first_name: 'Grace', contact_details: [{ type: 'E', value: 'grace@example.com' }] })
      return (await client.contacts.list().toArray({ limit: 10 })).map((contact) => contact.first_name)
    })()`,
  )
  assert.deepEqual(answer, ['Grace'])
})
