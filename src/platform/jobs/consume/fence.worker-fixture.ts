import { connect } from '../../db/sql.ts'
import type { JobKind } from '../job-kind.ts'
import { startWorker } from './worker.ts'

// Child process of fence.test.ts, which stops and kills it. Holds jobs of the kind `held` until a message lets it
// continue, and records its effects in `effects`.

export type FixtureMessage = { holds: number } | { refused: number }

const sendMessage = (message: FixtureMessage) => process.send?.(message)
const [url = '', leaseSeconds = '1'] = process.argv.slice(2)
const db = connect({ url })
const go = Promise.withResolvers<void>()
process.on('message', () => go.resolve())
process.on('disconnect', () => process.exit())

let holds = 0
const kind: JobKind = {
  kind: 'held',
  concurrency: 1000,
  batch: 500,
  leaseSeconds: Number(leaseSeconds),
  maxAttempts: 5,
  run: async () => {
    sendMessage({ holds: ++holds })
    await go.promise
  },
  onComplete: async (tx, done) => {
    await tx.run`insert into effects select id, 'child' from unnest(${done.map(({ job }) => job.id)}::uuid[]) d (id)`
  },
}

startWorker({
  db,
  kinds: [kind],
  log: {
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: (fields) => {
      if ('jobs' in fields && typeof fields.jobs === 'number') sendMessage({ refused: fields.jobs })
    },
  },
})
