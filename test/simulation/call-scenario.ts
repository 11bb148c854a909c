import { openAccount } from '../../src/domains/accounts/ops.ts'
import { deposit } from '../../src/domains/ledger/ops.ts'
import type { Db } from '../../src/platform/db/sql.ts'
import { print } from '../../src/platform/lib/id.ts'
import type { SimulatedDatabase } from './database.ts'
import { inProcess, type Process, type Schedule, short } from './schedule.ts'
import { loadEach, log } from './services.ts'
import type { Due, Processes, Scenario, Workload } from './simulation.ts'

// Calls and the money that is held for them: heartbeats, ends that are repeated, and calls of crashed processes.

type Modules = {
  readonly sql: typeof import('../../src/platform/db/sql.ts')
  readonly worker: typeof import('../../src/platform/jobs/consume/worker.ts')
  readonly ids: typeof import('../../src/platform/lib/id.ts')
  readonly ops: typeof import('../../src/domains/calls/ops.ts')
  readonly jobs: typeof import('../../src/domains/calls/jobs.ts')
}

type Context = { readonly database: SimulatedDatabase; readonly modulesOf: (process: Process) => Modules }

const rate = '0.5'
/** Money for a few minutes: some calls are refused, and some end early. */
const deposited = 2_500_000
const heartbeatMs = 5_000

const openCaller = (db: Db): Promise<string> =>
  db.begin(async (tx) => {
    const account = await openAccount(tx, { name: 'simulated' })
    await deposit(tx, account, deposited, { kind: 'credit' })
    return account
  })

type CallRow = { id: string; ended: boolean; price: string }
type TransferRow = { reference: string; debit: string; credit: string; amount: string }

const microsOf = (amount: string) => Math.round(Number(amount) * 1_000_000)

const makeWorkload = (
  { database, modulesOf }: Context,
  schedule: Schedule,
  processes: Processes,
  account: string,
): Workload => {
  const databases = new Map<Process, Db>()

  const waitFor = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

  /** Repeats a step until it is stored, as the gateway does. */
  const persist = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work()
      } catch {
        await waitFor(1_000)
      }
    }
  }

  const call = async (process: Process, db: Db): Promise<void> => {
    const { ids, ops } = modulesOf(process)
    const id = ids.uuid()
    const isBegun = await db.begin((tx) =>
      ops.beginCall(tx, {
        ...{ account_id: account, id, callid: id, direction: 'O', user_id: null, from_number: null, rate },
        ...{ to_number: '+447911123456', iso_country_code: 'GB', is_msgapp: false, is_trunk: true },
        ...{ caller_id: null, caller_id_used: '+447700100000', virtual_number_id: null, toll_free: false },
      }),
    )
    if (!isBegun) return
    await schedule.park(`${process.name} call ${short(id)} rings`, process)
    if (schedule.random() < 0.8) await persist(() => db.begin((tx) => ops.callAnswered(tx, account, id, null)))
    for (let left = schedule.below(4); left > 0; left--) {
      await waitFor(heartbeatMs)
      const { cut } = await persist(() => db.begin((tx) => ops.heartbeatCall(tx, account, id)))
      if (cut) break
    }
    await schedule.park(`${process.name} call ${short(id)} ends`, process)
    const end = { status: 'COMPLETED', reason: 'hangup' } as const
    await persist(() => db.begin((tx) => ops.callEnded(tx, account, id, end)))
  }

  const judgeCall = ({ id, ended, price }: CallRow, transfers: readonly TransferRow[], completed: number) => {
    if (!ended) schedule.violate(`call ${short(id)} never ended`)
    if (ended && completed !== 1) schedule.violate(`the end of call ${short(id)} was published ${completed} times`)
    const own = transfers.filter(({ reference }) => reference === print('CDR', id))
    const paid = own.filter(({ credit }) => credit === 'calls').reduce((sum, one) => sum + microsOf(one.amount), 0)
    if (paid !== microsOf(price)) schedule.violate(`call ${short(id)} costs ${price}, and ${paid} were charged`)
    const sumOf = (side: 'debit' | 'credit') =>
      own.filter((one) => one[side] === 'held').reduce((sum, one) => sum + microsOf(one.amount), 0)
    if (sumOf('credit') !== sumOf('debit'))
      schedule.violate(`call ${short(id)} held ${sumOf('credit')} and released ${sumOf('debit')}`)
  }

  return {
    boot: (process) => {
      const m = modulesOf(process)
      const db = m.sql.connect({ url: database.url, connections: 4 })
      const worker = m.worker.startWorker({ db, log, kinds: [], schedules: [m.jobs.closeCalls] })
      process.isStarted = true
      databases.set(process, db)
      return () => {
        databases.delete(process)
        void worker.stop(0)
      }
    },
    acts: Array.from({ length: 2 + schedule.below(4) }, (_, n) => ({
      label: `call ${n + 1} comes`,
      go: () => {
        const process = processes.any()
        const db = process && databases.get(process)
        if (db) void inProcess(schedule, process, () => call(process, db)).catch(() => {})
      },
    })),
    nextDue: async (): Promise<Due | null> => {
      const [next] = await database.ask<{ at: string }>(
        `select extract(epoch from alive_at + case when answered_at is null then interval '5 minutes 6 seconds'
          else interval '66 seconds' end) * 1000 as at
        from calls where account_id = $1 and ended_at is null order by 1 limit 1`,
        [account],
      )
      return next ? { at: Number(next.at), isLeased: true } : null
    },
    judge: async () => {
      const calls = await database.ask<CallRow>(
        'select id, ended_at is not null as ended, price from calls where account_id = $1',
        [account],
      )
      const transfers = await database.ask<TransferRow>(
        'select reference, debit, credit, amount from transfers where account_id = $1',
        [account],
      )
      const ends = await database.ask<{ uuid: string }>(
        `select payload ->> 'uuid' as uuid from events where account_id = $1 and name = 'call.outbound.completed'`,
        [account],
      )
      for (const row of calls)
        judgeCall(row, transfers, ends.filter(({ uuid }) => uuid === print('CDR', row.id)).length)
      const [book] = await database.ask<{ balance: string; holds: number }>(
        `select balance, (select count(*)::integer from holds where account_id = $1) as holds
        from balances where account_id = $1`,
        [account],
      )
      if (book?.holds !== 0) schedule.violate(`${book?.holds} holds are left`)
      const owed = deposited - calls.reduce((sum, { price }) => sum + microsOf(price), 0)
      if (microsOf(book?.balance ?? '') !== owed)
        schedule.violate(`the balance is ${book?.balance}, not ${owed} millionths`)
    },
  }
}

export const calls: Scenario = {
  name: 'calls',
  prepare: async (database, slots, db) => {
    const modulesOf = await loadEach<Modules>(slots, async (from) => ({
      sql: await from('src/platform/db/sql.ts'),
      worker: await from('src/platform/jobs/consume/worker.ts'),
      ids: await from('src/platform/lib/id.ts'),
      ops: await from('src/domains/calls/ops.ts'),
      jobs: await from('src/domains/calls/jobs.ts'),
    }))
    return async (schedule, processes) =>
      makeWorkload({ database, modulesOf }, schedule, processes, await openCaller(db))
  },
}
