// Our queue against pg-boss and graphile-worker, on the same embedded PostgreSQL in the same run.
//
//   node bench/queue.ts --rounds 5 --jobs 20000
//
// Jobs are added in statements of 500, then run by a handler that does nothing and marked as done. Running is timed from
// the first handler until nothing is left to do in the database. Each queue is set up for throughput, 500 jobs a statement:
// pg-boss by its own `fetch` and `complete` in two loops (faster than its `work`, which waits between looks);
// graphile-worker with a local queue, batched completion and 24 jobs at a time. `begin … commit` around an insert of ours
// is counted.

import { makeWorkerUtils, run, type WorkerUtils } from 'graphile-worker'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { connect } from '../src/db/sql.ts'
import type { Kind } from '../src/jobs/kind.ts'
import { enqueueAll } from '../src/jobs/queue.ts'
import { startWorker } from '../src/jobs/worker.ts'
import { startServer } from '../test/servers.ts'
import { median, option, table, thousands } from './lib.ts'

const rounds = option('rounds', 5)
const count = option('jobs', 20_000)
const size = 500

const server = await startServer()
const db = connect({ url: server.url, connections: 10 })
const quiet = { info: () => {}, warn: () => {}, error: console.error, debug: () => {} }

type Queue = {
  name: string
  clear(): Promise<void>
  /** Adds jobs with these numbers by one call. */
  add(numbers: number[]): Promise<unknown>
  /** Runs all, and resolves when all are marked as done. `ran` is called by the handler. */
  drain(ran: () => void): Promise<void>
}

/** Resolves when the condition, a query, holds. */
const emptied = async (query: () => Promise<number>) => {
  while ((await query()) > 0) await new Promise((resolve) => setTimeout(resolve, 2))
}

const ours = (name: string, extra: Partial<Kind>): Queue => {
  const account = '00000000-0000-7000-8000-000000000001'
  return {
    name,
    clear: async () => {
      await db.raw('truncate jobs')
    },
    add: (numbers) =>
      db.begin((tx) =>
        enqueueAll(
          tx,
          'bench',
          numbers.map((n) => ({ payload: { n }, account })),
        ),
      ),
    drain: async (ran) => {
      let done = 0
      const all = Promise.withResolvers<void>()
      const kind: Kind = {
        kind: 'bench',
        concurrency: 2 * size,
        batch: size,
        leaseSeconds: 30,
        maxAttempts: 3,
        run: async () => {
          ran()
          if (++done === count) all.resolve()
        },
        ...extra,
      }
      const worker = startWorker({ db, kinds: [kind], log: quiet })
      await all.promise
      await emptied(async () => (await db.one<{ n: number }>`select exists (select from jobs)::integer as n`).n)
      await worker.stop()
    },
  }
}

const boss = new PgBoss({ connectionString: server.url, max: 10, supervise: false, schedule: false })
boss.on('error', console.error)
await boss.start()
await boss.createQueue('bench')
const pgBoss: Queue = {
  name: 'pg-boss 12.30.0',
  clear: () => boss.deleteAllJobs('bench'),
  add: (numbers) =>
    boss.insert(
      'bench',
      numbers.map((n) => ({ data: { n } })),
    ),
  drain: async (ran) => {
    const loop = async () => {
      for (;;) {
        const jobs = await boss.fetch('bench', { batchSize: size })
        if (jobs.length === 0) return
        for (const _ of jobs) ran()
        await boss.complete(
          'bench',
          jobs.map(({ id }) => id),
        )
      }
    }
    await Promise.all([loop(), loop()])
  },
}

const pool = new Pool({ connectionString: server.url, max: 26 })
const utils: WorkerUtils = await makeWorkerUtils({ pgPool: pool })
await utils.migrate()
const graphile: Queue = {
  name: 'graphile-worker 0.18.0',
  clear: async () => {
    await pool.query('truncate graphile_worker._private_jobs')
  },
  add: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: 'bench', payload: { n } }))),
  drain: async (ran) => {
    let done = 0
    const all = Promise.withResolvers<void>()
    const runner = await run({
      pgPool: pool,
      noHandleSignals: true,
      taskList: {
        bench: async () => {
          ran()
          if (++done === count) all.resolve()
        },
      },
      preset: { worker: { concurrentJobs: 24, localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    })
    await all.promise
    await emptied(async () => {
      const { rows } = await pool.query('select exists (select from graphile_worker._private_jobs)::integer as n')
      return Number(rows[0]?.n)
    })
    await runner.stop()
  },
}

const queues = [
  ours('ours', {}),
  ours('ours, with a transaction of our own at the end', {
    settle: async (tx) => {
      await tx.one`select 1`
    },
  }),
  ours('ours, fair', { fair: true }),
  pgBoss,
  graphile,
]

const adding = new Map<string, number[]>()
const running = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++) {
  for (const queue of queues) {
    await queue.clear()
    await db.raw('vacuum analyze')
    const began = performance.now()
    for (let n = 0; n < count; n += size)
      await queue.add(Array.from({ length: Math.min(size, count - n) }, (_, i) => n + i))
    const added = performance.now() - began
    let first = 0
    await queue.drain(() => {
      first ||= performance.now()
    })
    const ran = performance.now() - first
    // The first round warms up.
    if (round === 0) continue
    adding.set(queue.name, [...(adding.get(queue.name) ?? []), (count * 1000) / added])
    running.set(queue.name, [...(running.get(queue.name) ?? []), (count * 1000) / ran])
  }
}

const cell = (figures: Map<string, number[]>, name: string) => {
  const values = figures.get(name) ?? []
  const [best = 0] = [...values].sort((a, b) => b - a)
  const ratio = median(figures.get(queues[0]?.name ?? '') ?? []) / median(values)
  return [`${thousands(median(values))} (best ${thousands(best)})`, ratio.toFixed(1)]
}
console.log(`${count} jobs, median of ${rounds} rounds, one after the other within each round\n`)
table(
  ['queue', 'added /s', 'ours is × as fast', 'run and done /s', 'ours is × as fast'],
  queues.map(({ name }) => [name, ...cell(adding, name), ...cell(running, name)]),
)

await boss.stop({ graceful: false })
await utils.release()
await pool.end()
await db.end()
await server.stop()
