import { connect } from '../db/sql.ts'
import type { Kind } from './kind.ts'
import { startWorker } from './worker.ts'

// A process of its own for fence.test.ts, to be stopped and killed: holds jobs of the kind `held` until it is told to go on,
// and writes into `effects` what it did.

export type Told = { holds: number } | { refused: number }

const tell = (message: Told) => process.send?.(message)
const [url = '', leaseSeconds = '1'] = process.argv.slice(2)
const db = connect({ url })
const go = Promise.withResolvers<void>()
process.on('message', () => go.resolve())
process.on('disconnect', () => process.exit())

let holds = 0
const kind: Kind = {
  kind: 'held',
  concurrency: 1000,
  batch: 500,
  leaseSeconds: Number(leaseSeconds),
  maxAttempts: 5,
  run: async () => {
    tell({ holds: ++holds })
    await go.promise
  },
  settle: async (tx, done) => {
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
      if ('jobs' in fields && typeof fields.jobs === 'number') tell({ refused: fields.jobs })
    },
  },
})
