import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../test/platform.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { makeCpuMeter } from './cpu-meter.ts'
import { type Group, runsOf } from './plan.ts'
import { runFiles } from './run-files.ts'
import { workThrough } from './scheduler.ts'

const folder = temporaryFolder()

const patient = { test: 60_000, busy: 60_000, over: 60_000 }

const write = (name: string, body: string): string => {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(path, `import { after, test } from 'node:test'\nimport { writeFileSync } from 'node:fs'\n${body}`)
  return path
}

const runTogether = (bodies: Record<string, string>, patience = patient) => {
  const [first, ...others] = runsOf(Object.entries(bodies).map(([name, body]) => write(name, body)))
  assert.ok(first)
  return runFiles([first, ...others] satisfies Group, patience)
}

const run = async (name: string, body: string, patience = patient) => {
  const { outcomes, unreported, text } = await runTogether({ [name]: body }, patience)
  const [outcome] = outcomes
  assert.ok(outcome && outcomes.length === 1 && unreported.length === 0)
  return { ...outcome, text }
}

const mark = (name: string) => join(folder, name)
const leaves = (name: string) => `writeFileSync(${JSON.stringify(mark(name))}, '')`

test('a passing file is counted and its skipped tests are reported', async () => {
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

test('a file that fails or cannot be loaded reports the reason', async () => {
  const failed = await run('fails', `test('one', () => { throw new Error('no reason at all') })`)
  assert.equal(failed.passed, false)
  assert.match(failed.text, /✖ one[\s\S]*no reason at all/)
  const broken = await run('broken', `throw new Error('not even a test')`)
  assert.equal(broken.passed, false)
  assert.match(broken.text, /not even a test/)
  const gone = await run('gone', `test('one', () => process.exit(0))`)
  assert.equal(gone.passed, false, gone.text)
})

test('a stray error fails the test that caused it, before and after an await, alone and in a shared process', async () => {
  const body = `
    import { setTimeout as pause } from 'node:timers/promises'
    test('outer', async () => {
      await pause(1)
      await test('inner', async () => { await pause(1); setTimeout(() => { throw new Error('stray') }, 1); await pause(50) })
    })
    test('rejects', async () => { await pause(1); Promise.reject(new Error('lost')); await pause(50) })
    test('good', async () => { await pause(1) })`
  const alone = await run('stray', body)
  const { outcomes, text } = await runTogether({ strays: body, calm: `test('calm', () => {})` })
  for (const said of [alone.text, text])
    assert.match(said, /✖ inner[\s\S]*✖ outer[\s\S]*✖ rejects[\s\S]*✔ good[\s\S]*stray[\s\S]*lost/)
  assert.equal(alone.passed, false)
  assert.deepEqual(
    outcomes.map(({ passed, counts }) => ({ passed, counts })),
    [
      { passed: false, counts: { tests: 4, passed: 1 } },
      { passed: true, counts: { tests: 1, passed: 1 } },
    ],
  )
})

test('a test that never ends fails, the other tests of its file are reported, and its hooks run', async () => {
  const { passed, text } = await run(
    'never',
    `after(() => ${leaves('hook')}); test('good', () => {}); test('endless', () => new Promise(() => setInterval(() => {}, 1000)))`,
    { test: 500, busy: 60_000, over: 1_000 },
  )
  assert.equal(passed, false)
  assert.match(text, /✔ good[\s\S]*✖ endless/)
  assert.match(text, /its tests had ended, but its process had not/)
  assert.ok(existsSync(mark('hook')))
})

test('a process that does not end after its last test is killed and its file fails', async () => {
  const { passed, text } = await run('handle', `test('good', () => void setInterval(() => {}, 1000))`, {
    ...{ test: 60_000, busy: 60_000, over: 1_000 },
  })
  assert.equal(passed, false)
  assert.match(text, /✔ good[\s\S]*its tests had ended, but its process had not/)
})

test('a process with a blocked event loop is killed, even if it handles SIGTERM', async () => {
  const patience = { test: 500, busy: 3_000, over: 1_000 }
  const deaf = `process.on('SIGTERM', () => {});`
  const inTest = await run('block', `${deaf} test('blocks', () => { for (;;); })`, patience)
  assert.equal(inTest.passed, false)
  assert.match(inTest.text, /killed after/)
  const atExit = await run('exit', `${deaf} process.on('exit', () => { for (;;); }); test('good', () => {})`, patience)
  assert.equal(atExit.passed, false)
  assert.match(atExit.text, /✔ good[\s\S]*its tests had ended, but its process had not/)
})

test('a child process that a file left behind is killed with the file', async () => {
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

test('processor time includes that of killed children', async (t) => {
  const burn = `const end = process.cpuUsage().user + 400_000; while (process.cpuUsage().user < end);`
  const grandchild = `${burn} console.log('burnt'); setInterval(() => {}, 1000)`
  const body = `const { spawn } = await import('node:child_process')
    test('kills a child', async () => {
      const child = spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}])
      await new Promise((resolve) => child.stdout.once('data', resolve))
      child.kill('SIGKILL')
    })`
  const meter = makeCpuMeter()
  if (!meter) return t.skip('counts on Linux alone')
  const part = meter.part()
  const { outcomes, text } = await runFiles([{ name: 'burns', file: write('burns', body), env: {} }], patient, {
    cpu: part,
  })
  part.close()
  meter.close()
  const cpu = outcomes[0]?.cpu ?? 0
  assert.ok(cpu >= 0.4, `${cpu} s: ${text}`)
})

test('files that share a process are reported separately, each with its own tests, hooks and failure', async () => {
  const { outcomes, unreported, text } = await runTogether({
    one: `after(() => console.log('hook of one')); test('good', () => {}); test('later', { skip: 'needs a moon' }, () => {})`,
    two: `test('bad', () => { throw new Error('no reason at all') }); test('good', () => console.log('two goes on'))`,
    three: `throw new Error('not even a test')`,
    four: `await 1; test('good', () => {}); test('holds', async (t) => { await t.test('inner', () => {}) })`,
  })
  assert.deepEqual(
    outcomes.map(({ passed, counts }) => [passed, counts.tests, counts.passed]),
    [
      [true, 2, 1],
      [false, 2, 1],
      [false, 0, 0],
      [true, 3, 3],
    ],
    text,
  )
  assert.deepEqual(
    outcomes.map(({ skipped }) => skipped),
    [[{ name: 'later', reason: 'needs a moon' }], [], [], []],
  )
  assert.deepEqual(unreported, [])
  assert.match(text, /hook of one[\s\S]*two goes on/)
  assert.match(text, /✖ bad[\s\S]*no reason at all/)
  assert.match(text, /not even a test/)
})

test('endings of a file that shares its process run after its own hooks and before the next file', async () => {
  const endings = JSON.stringify(import.meta.resolve('../../test/endings.ts'))
  const { outcomes, text } = await runTogether({
    'with-endings': `import { atEnd } from ${endings}
      atEnd(() => console.log('database ends')); atEnd(() => console.log('platform ends'))
      after(() => console.log('own hook')); test('good', () => {})`,
    next: `test('good', () => console.log('next file'))`,
  })
  assert.deepEqual(
    outcomes.map(({ passed }) => passed),
    [true, true],
    text,
  )
  assert.match(text, /own hook[\s\S]*platform ends[\s\S]*database ends[\s\S]*next file/)
})

test('a file that hangs or ends its shared process fails; earlier results stay, later files run again', async () => {
  const good = `test('good', () => {})`
  const tell = ({ outcomes, unreported }: Awaited<ReturnType<typeof runTogether>>) => ({
    told: outcomes.map(({ turn, passed }) => [basename(turn.file, '.mjs'), passed]),
    untold: unreported.map(({ file }) => basename(file, '.mjs')),
  })
  const expected = {
    told: [
      ['before', true],
      ['culprit', false],
    ],
    untold: ['later', 'last'],
  }
  const others = { later: good, last: good }
  const busy = await runTogether(
    { before: good, culprit: `test('good', () => {}); test('blocks', () => { for (;;); })`, ...others },
    { test: 500, busy: 3_000, over: 1_000 },
  )
  assert.deepEqual(tell(busy), expected, busy.text)
  assert.match(busy.text, /culprit\.mjs was killed after/)
  const gone = await runTogether({ before: good, culprit: `test('exits', () => process.exit(0))`, ...others })
  assert.deepEqual(tell(gone), expected, gone.text)
  const handle = await runTogether(
    { before: good, culprit: `test('good', () => void setInterval(() => {}, 1000))`, ...others },
    { ...patient, over: 1_000 },
  )
  assert.deepEqual(tell(handle), { told: [], untold: ['before', 'culprit', 'later', 'last'] }, handle.text)
})

test('few files run at a time on busy processors, more on idle ones, and never more than allowed', async () => {
  const limits = { least: 2, most: 4 }
  const started: string[] = []
  const most = async (idle: number) => {
    started.length = 0
    const ends: (() => void)[] = []
    let running = 0
    let highest = 0
    let done = 0
    const work = async (item: string) => {
      highest = Math.max(highest, ++running)
      started.push(item)
      await new Promise<void>((resolve) => ends.push(resolve))
      running--
      done++
      if (item === 'fails once') queue.push('again')
    }
    const queue = ['fails once', ...'abcdef']
    let looks = 0
    const idleShare = () => {
      if (++looks > 5) for (const end of ends.splice(0)) end()
      return idle
    }
    await workThrough(queue, work, limits, { mostlyWaits: (item) => /[ef]/.test(item), idleShare, every: 1 })
    assert.equal(done, 8)
    return highest
  }
  assert.equal(await most(0.1), 2)
  assert.equal(await most(0.9), 4)
  assert.deepEqual(started.slice(0, 4), ['fails once', 'a', 'b', 'c'])
  // Those that mostly wait run beside others, before their turn.
  assert.equal(await most(0.2), 4)
  assert.deepEqual(started.slice(0, 4), ['fails once', 'a', 'e', 'f'])
})
