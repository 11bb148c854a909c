import type { JobKind } from '../../src/platform/jobs/job-kind.ts'
import { followLeases } from './leases.ts'
import { inProcess, type Process, type Schedule, short } from './schedule.ts'
import { loadEach, log, nextJob } from './services.ts'
import type { Processes, Scenario, Workload } from './simulation.ts'

// Jobs with and without keys, of handlers that succeed, fail, retry and discard.

type Modules = {
  readonly sql: typeof import('../../src/platform/db/sql.ts')
  readonly worker: typeof import('../../src/platform/jobs/consume/worker.ts')
  readonly queue: typeof import('../../src/platform/jobs/queue.ts')
  readonly kinds: typeof import('../../src/platform/jobs/job-kind.ts')
}

/** Requested jobs and the ends of jobs, each in the transaction of its cause. No key hides an end that happens twice. */
const tables = `
  create table simulation.requested (run integer, id uuid);
  create table simulation.ended (n serial, run integer, id uuid)`

const plain = 'simulation.plain'
const keyed = 'simulation.keyed'

/** A job whose request was answered, with the order of question and answer among all of the schedule. */
type JobRequest = {
  readonly id: string
  readonly key: string | null
  readonly asked: number
  readonly answered: number
}

const makeWorkload = (modulesOf: (process: Process) => Modules, schedule: Schedule, processes: Processes): Workload => {
  const { database } = processes
  const run = schedule.seed
  const answered: JobRequest[] = []
  let order = 0
  const connectAt = (process: Process) => modulesOf(process).sql.connect({ url: database.url, connections: 4 })
  database.watch = followLeases(schedule)

  const kindFor = (kind: string, process: Process): JobKind => {
    const { Retry, Snooze, Discard } = modulesOf(process).kinds
    return {
      ...{ kind, concurrency: 3, batch: 4, leaseSeconds: 30, maxAttempts: 3 },
      run: async (job) => {
        for (let left = 1 + schedule.below(3); left > 0; left--)
          await schedule.park(`${process.name} works on job ${short(job.id)}`, process)
        const fate = schedule.random()
        if (fate < 0.1) throw new Retry('again', schedule.random() * 3)
        if (fate < 0.2) throw new Snooze('later', schedule.random() * 3)
        if (fate < 0.25) throw new Discard('never')
        if (fate < 0.35) throw new Error('fails')
      },
      onComplete: async (tx, done) => {
        for (const { job } of done) await tx.run`insert into simulation.ended (run, id) values (${run}, ${job.id})`
      },
      onDiscard: async (tx, job) => {
        await tx.run`insert into simulation.ended (run, id) values (${run}, ${job.id})`
      },
    }
  }

  const request = async (process: Process, key: string | null): Promise<void> => {
    const asked = ++order
    const db = connectAt(process)
    const id = await db.begin(async (tx) => {
      const kind = key === null ? plain : keyed
      const id = await modulesOf(process).queue.enqueue(tx, kind, {}, key === null ? {} : { key })
      await tx.run`insert into simulation.requested (run, id) values (${run}, ${id})`
      return id
    })
    answered.push({ id, key, asked, answered: ++order })
  }

  return {
    boot: (process) => {
      const kinds = [kindFor(plain, process), kindFor(keyed, process)]
      const worker = modulesOf(process).worker.startWorker({ db: connectAt(process), log, kinds })
      process.isStarted = true
      return () => void worker.stop(0)
    },
    acts: Array.from({ length: 2 + schedule.below(5) }, (_, n) => ({
      label: `client requests job ${n + 1}`,
      go: () => {
        const process = processes.any()
        const key = schedule.pick([null, 'k1', 'k1', 'k2'])
        // A lost answer leaves its client in doubt.
        if (process) void inProcess(schedule, process, () => request(process, key)).catch(() => {})
      },
    })),
    nextDue: () => nextJob(database),
    judge: async () => {
      const requested = await database.ask<{ id: string }>('select id from simulation.requested where run = $1', [run])
      const rows = await database.ask<{ id: string }>('select id from simulation.ended where run = $1 order by n', [
        run,
      ])
      const ended = rows.map(({ id }) => id)
      for (const { id } of answered)
        if (!requested.some((one) => one.id === id)) schedule.violate(`job ${short(id)} was answered and is not stored`)
      for (const { id } of requested) {
        const count = ended.filter((one) => one === id).length
        if (count !== 1) schedule.violate(`job ${short(id)} ended ${count} times`)
      }
      // Ids of two processes within a millisecond may have either order.
      for (const one of answered)
        for (const other of answered)
          if (one.key !== null && one.key === other.key && one.id < other.id && one.answered < other.asked)
            if (ended.indexOf(other.id) < ended.indexOf(one.id))
              schedule.violate(
                `job ${short(other.id)} of key ${one.key} ended before ${short(one.id)}, which was requested first`,
              )
    },
  }
}

export const jobs: Scenario = {
  name: 'jobs',
  prepare: async (database, slots) => {
    await database.ask(tables)
    const modulesOf = await loadEach<Modules>(slots, async (from) => ({
      sql: await from('src/platform/db/sql.ts'),
      worker: await from('src/platform/jobs/consume/worker.ts'),
      queue: await from('src/platform/jobs/queue.ts'),
      kinds: await from('src/platform/jobs/job-kind.ts'),
    }))
    return async (schedule, processes) => makeWorkload(modulesOf, schedule, processes)
  },
}
