import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** What the runner wants to know of a file while it runs; one line of JSON each, on descriptor 3. */
export type Fact =
  | { kind: 'wait' | 'done' }
  | { kind: 'skip'; name: string; reason: string }
  | { kind: 'begin' }
  | { kind: 'end'; counts: Counts; success: boolean; ms: number; cpu: number }
  | { kind: 'over'; counts: Counts; success: boolean }

type Counts = { tests: number; passed: number }

export const tell = (fact: Fact) => writeSync(3, `${JSON.stringify(fact)}\n`)

/** The counts at the end of each file; the runner adds them up instead. */
const isCount = (message: string) =>
  /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message)

/** Whether the tests at the top are the files of shared.ts. */
const isShared = process.argv[1] === join(import.meta.dirname, 'shared.ts')

/** Tells of each file that shares the process when it ends, and what it took. */
const sharing = () => {
  let counts = { tests: 0, passed: 0 }
  let before = 0
  return (event: TestEvent) => {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') return
    const success = event.type === 'test:pass'
    const { nesting, details } = event.data
    if (nesting > 0) {
      if (details.type === 'suite') return
      counts.tests++
      if (success && event.data.skip === undefined && event.data.todo === undefined) counts.passed++
      return
    }
    const { user, system } = process.cpuUsage()
    const all = (user + system) / 1e6
    tell({ kind: 'end', counts, success, ms: details.duration_ms, cpu: all - before })
    counts = { tests: 0, passed: 0 }
    before = all
  }
}

async function* watched(source: AsyncIterable<TestEvent>) {
  const share = isShared ? sharing() : () => {}
  for await (const event of source) {
    share(event)
    if (event.type === 'test:enqueue') tell({ kind: 'wait' })
    if (event.type === 'test:complete') tell({ kind: 'done' })
    if (event.type === 'test:pass' && event.data.skip !== undefined && event.data.skip !== false) {
      const { name, skip } = event.data
      tell({ kind: 'skip', name, reason: typeof skip === 'string' ? skip : 'no reason given' })
    }
    if (event.type === 'test:summary') {
      const { counts, success } = event.data
      const { tests, passed } = counts
      tell({ kind: 'over', counts: { tests, passed }, success: success === true })
    }
    if (event.type === 'test:diagnostic' && isCount(event.data.message)) continue
    yield event
  }
}

/** Node's own `spec`, and facts for the runner beside it. */
// biome-ignore lint/style/noDefaultExport: Node asks for a reporter's default export
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(watched(source)).compose(new spec())
}
