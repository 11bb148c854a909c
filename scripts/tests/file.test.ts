import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../test/platform.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { runFile } from './file.ts'
import { plain, whole } from './plan.ts'

const folder = temporaryFolder()

const run = (name: string, body: string, patience = { test: 60_000, busy: 60_000, over: 60_000 }) => {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(path, `import { after, test } from 'node:test'\nimport { writeFileSync } from 'node:fs'\n${body}`)
  const [turn] = plain([path])
  assert.ok(turn)
  return runFile(turn, patience)
}

const mark = (name: string) => join(folder, name)
const leaves = (name: string) => `writeFileSync(${JSON.stringify(mark(name))}, '')`

test('a file that passes is counted, and what it skips is told', async () => {
  const { passed, counts, skipped, text } = await run(
    'passes',
    `test('one', () => console.log('said')); test('two', { skip: 'needs a moon' }, () => {})`,
  )
  assert.equal(passed, true, text)
  assert.deepEqual(counts, { tests: 2, passed: 1 })
  assert.deepEqual(skipped, [{ name: 'two', reason: 'needs a moon' }])
  assert.match(text, /said/)
  assert.match(text, /✔ one/)
})

test('a file that fails, or that cannot be loaded, says why', async () => {
  const failed = await run('fails', `test('one', () => { throw new Error('no reason at all') })`)
  assert.equal(failed.passed, false)
  assert.match(failed.text, /✖ one[\s\S]*no reason at all/)
  const broken = await run('broken', `throw new Error('not even a test')`)
  assert.equal(broken.passed, false)
  assert.match(broken.text, /not even a test/)
  const gone = await run('gone', `test('one', () => process.exit(0))`)
  assert.equal(gone.passed, false, gone.text)
})

test('a test that never ends fails, the others of its file are told, and its hooks run', async () => {
  const { passed, text } = await run(
    'never',
    `after(() => ${leaves('hook')}); test('good', () => {}); test('endless', () => new Promise(() => setInterval(() => {}, 1000)))`,
    { test: 500, busy: 60_000, over: 1_000 },
  )
  assert.equal(passed, false)
  assert.match(text, /✔ good[\s\S]*✖ endless/)
  assert.match(text, /its tests were over, but not its process/)
  assert.ok(existsSync(mark('hook')))
})

test('a process that does not end after its last test is killed, and its file fails', async () => {
  const { passed, text } = await run('handle', `test('good', () => void setInterval(() => {}, 1000))`, {
    ...{ test: 60_000, busy: 60_000, over: 1_000 },
  })
  assert.equal(passed, false)
  assert.match(text, /✔ good[\s\S]*its tests were over, but not its process/)
})

test('an event loop that is held for ever is killed, in a test and at the exit, whatever signals it takes', async () => {
  const patience = { test: 500, busy: 3_000, over: 1_000 }
  const deaf = `process.on('SIGTERM', () => {});`
  const inTest = await run('block', `${deaf} test('blocks', () => { for (;;); })`, patience)
  assert.equal(inTest.passed, false)
  assert.match(inTest.text, /killed after/)
  const atExit = await run('exit', `${deaf} process.on('exit', () => { for (;;); }); test('good', () => {})`, patience)
  assert.equal(atExit.passed, false)
  assert.match(atExit.text, /✔ good[\s\S]*its tests were over, but not its process/)
})

test('what a file started and forgot ends with it', async () => {
  const { passed, text } = await run(
    'orphan',
    `const { spawn } = await import('node:child_process')
     const child = spawn('sleep', ['600'], { stdio: 'inherit' })
     child.unref()
     test('good', () => console.log('sleeper', child.pid))`,
  )
  assert.equal(passed, true, text)
  const pid = Number(/sleeper (\d+)/.exec(text)?.[1])
  assert.ok(pid > 0, text)
  const isGone = async () => {
    try {
      process.kill(pid, 0)
      return false
    } catch {
      return true
    }
  }
  await until(isGone)
})

test('a whole run tries each file once, those that take long first, and the SQL of the domains on the oldest server too', () => {
  const root = join(import.meta.dirname, '../..')
  const files = ['src/sms/sms.test.ts', 'src/webhooks/webhooks.test.ts', 'test/fuzz.test.ts']
  const names = whole(files, root, true).map(({ name }) => name)
  assert.deepEqual(names.slice(0, 3), ['test/fuzz.test.ts', ...files.slice(0, 2)])
  assert.ok(names.length > 30 && names.includes('src/sms/sms.test.ts on PostgreSQL 15'), names.join())
  assert.equal(whole(files, root, false).length, 3)
})
