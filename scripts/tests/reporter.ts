import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** A progress event of a test process, sent to the runner as a line of JSON on descriptor 3. */
export type ProgressEvent =
  | { kind: 'wait' | 'done' }
  | { kind: 'skip'; name: string; reason: string }
  | { kind: 'begin' }
  | { kind: 'end'; counts: Counts; success: boolean; ms: number }
  | { kind: 'over'; counts: Counts; success: boolean }

type Counts = { tests: number; passed: number }

export const sendEvent = (fact: ProgressEvent) => writeSync(3, `${JSON.stringify(fact)}\n`)

/** Whether a message is a count that Node prints at the end of each file. The runner prints the totals instead. */
const isCount = (message: string) =>
  /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message)

/** Whether the top-level tests are the files of shared-process.ts. */
const isSharedProcess = process.argv[1] === join(import.meta.dirname, 'shared-process.ts')

/** Reports the result of each file of a shared process when the file ends. */
const makeFileReporter = () => {
  let counts = { tests: 0, passed: 0 }
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
    sendEvent({ kind: 'end', counts, success, ms: details.duration_ms })
    counts = { tests: 0, passed: 0 }
  }
}

async function* withProgress(source: AsyncIterable<TestEvent>) {
  const share = isSharedProcess ? makeFileReporter() : () => {}
  for await (const event of source) {
    share(event)
    if (event.type === 'test:enqueue') sendEvent({ kind: 'wait' })
    if (event.type === 'test:complete') sendEvent({ kind: 'done' })
    if (event.type === 'test:pass' && event.data.skip !== undefined && event.data.skip !== false) {
      const { name, skip } = event.data
      sendEvent({ kind: 'skip', name, reason: typeof skip === 'string' ? skip : 'no reason given' })
    }
    if (event.type === 'test:summary') {
      const { counts, success } = event.data
      const { tests, passed } = counts
      sendEvent({ kind: 'over', counts: { tests, passed }, success: success === true })
    }
    if (event.type === 'test:diagnostic' && isCount(event.data.message)) continue
    yield event
  }
}

/** Prints Node's own `spec` report and sends progress events to the runner. */
// biome-ignore lint/style/noDefaultExport: Node asks for a reporter's default export
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(withProgress(source)).compose(new spec())
}
