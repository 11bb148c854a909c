import { writeSync } from 'node:fs'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** What the runner wants to know of a file while it runs; one line of JSON each, on descriptor 3. */
export type Fact =
  | { kind: 'wait' | 'done' }
  | { kind: 'skip'; name: string; reason: string }
  | { kind: 'over'; counts: { tests: number; passed: number }; success: boolean }

const tell = (fact: Fact) => writeSync(3, `${JSON.stringify(fact)}\n`)

/** The counts at the end of each file; the runner adds them up instead. */
const isCount = (message: string) =>
  /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message)

async function* watched(source: AsyncIterable<TestEvent>) {
  for await (const event of source) {
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
