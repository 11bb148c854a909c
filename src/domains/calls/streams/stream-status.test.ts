import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { programCall } from '../programs/program-testing.ts'
import { makeReportStream, type StreamReport } from './stream-status.ts'

/** Reports to a database whose first transactions fail. Returns the changes that it stored, and the errors. */
const open = (failures: number) => {
  const stored: unknown[] = []
  const errors: unknown[] = []
  let left = failures
  const tx = {
    afterCommit: () => {},
    maybe: async () => ({}),
    run: async ([statement]: readonly string[], ...values: readonly unknown[]) => {
      if (statement?.includes('insert into jobs')) stored.push(Object(values[4]).change)
      return 1
    },
  }
  const begin = async (work: (tx: never) => Promise<unknown>) => {
    if (left-- > 0) throw new Error('the database is away')
    return await work(tx as never)
  }
  const report = makeReportStream({
    ...{ db: { begin } as never, clock: Date, pauses: [0, 0], onError: (error) => void errors.push(error) },
  })
  const tell = (change: StreamReport['change']) =>
    report(
      programCall,
      { url: 'https://example.com/', method: 'POST', shape: 'native', application: null },
      { stream: programCall.id, name: null, change, error: null, end: null },
    )
  return { stored, errors, tell }
}

test('the reports of a call are stored in order, the first one again after a failure of the database', async () => {
  const { stored, errors, tell } = open(2)
  for (const change of ['started', 'error', 'stopped'] as const) tell(change)
  await until(async () => stored.length === 3)
  assert.deepEqual([stored, errors], [['started', 'error', 'stopped'], []])
})

test('a report that cannot be stored is an error for the log, and the next one is stored', async () => {
  const { stored, errors, tell } = open(3)
  for (const change of ['started', 'stopped'] as const) tell(change)
  await until(async () => stored.length === 1)
  assert.deepEqual([stored, errors.length], [['stopped'], 1])
})
