import type { Sql, Tx } from '../db/sql.ts'
import { type Done, GiveUp, type Kind, Retry } from '../jobs/kind.ts'
import { isQueued, type LongDue, longDue, withdraw } from '../jobs/ops.ts'
import type { Schedule } from '../jobs/schedule.ts'
import type { Parts } from '../parts.ts'
import { submitKind } from './carriers.ts'
import { makeCourier } from './courier.ts'
import { endUnsent } from './endings.ts'
import { makeHealth } from './health.ts'
import { receiveIncomplete } from './inbound.ts'
import { makeOrder } from './order.ts'
import { forgetReferences } from './pieces.ts'
import type { CarrierReceipt } from './receipts.ts'
import { forgetSeen } from './seen.ts'
import { type Sent, settleSent } from './settle.ts'
import { tell } from './shown.ts'
import * as states from './states.ts'
import { makeSteps } from './steps.ts'
import { defaultValidSeconds, makeSubmit, type Outcome, type Submission, validUntil } from './submit.ts'

type Ended = Done<Submission, Outcome>

/** Writes down how submissions ended. */
const settle = async (tx: Tx, done: readonly Ended[]): Promise<void> => {
  const messages: { account: string; id: string }[] = []
  const parts: states.Sent[] = []
  const ended: states.Ended[] = []
  for (const { job, result } of done) {
    const { id, account } = job
    if (account === null || result.outcome === 'gone') continue
    if (result.outcome === 'sent') {
      messages.push({ account, id })
      for (const taken of result.taken) parts.push({ account, message: id, ...taken })
    } else ended.push({ account, id, status: result.outcome, code: result.code })
  }
  if (messages.length > 0) await tell(tx, await states.sent(tx, messages, parts))
  await endUnsent(tx, ended)
}

/** Null for a submission that ended in another way. */
const sentOf = ({ job: { id, account }, fence, result }: Ended & { fence: number }): Sent | null =>
  account !== null && result.outcome === 'sent' ? { id, account, fence, taken: result.taken[0] ?? null } : null

/** Carries accepted texts to their carriers. At least once: a submit whose answer was lost is made again, unless the
 *  connection's policy says otherwise. */
const submitJob = (
  { carriers, routing }: Pick<Parts, 'carriers' | 'routing'>,
  run: ReturnType<typeof makeSubmit>,
): Kind<Submission, Outcome> => {
  const written = (tx: Tx, done: readonly Ended[]) => {
    const ids = done.map(({ job }) => job.id)
    tx.afterCommit(() => carriers.unwritten.clear(ids))
  }
  const end = async (sql: Sql, sent: readonly Sent[]): Promise<Set<string>> => {
    const ended = await settleSent(sql, sent)
    carriers.unwritten.clear(sent.map(({ id }) => id))
    return ended
  }
  return {
    kind: submitKind,
    concurrency: 512,
    // Nobody waits for it. A statement costs some 450 µs of its own, a text in it 25.
    spacing: 10,
    leaseSeconds: 30,
    maxAttempts: 50,
    fair: true,
    // Without any connection there is nothing to wait for.
    room: () => (routing.connections().length === 0 ? Number.POSITIVE_INFINITY : carriers.room()),
    run,
    end: (sql, done) => {
      const sent = done.map(sentOf)
      return sent.every((one) => one !== null) ? end(sql, sent) : null
    },
    settle: async (tx, done) => {
      written(tx, done)
      await states.byIndex(tx)
      await settle(tx, done)
    },
    failed: async (tx, { id, account }) => {
      tx.afterCommit(() => carriers.unwritten.clear([id]))
      if (account !== null) await endUnsent(tx, [{ account, id, status: 'failed', code: 'carrier_unreachable' }])
    },
  }
}

/** After the validity has ended, how long receipts may still be under way. */
const graceSeconds = 3_600
/** The attempt from which on a receipt may speak of a part of unknown fate: after 15 s, when an answer that is still to come
 *  has come, and well before a text that is held for a minute is submitted again. */
const adopting = 5

/** Receipts that came before the answer to their submit was written down: 0.3, 1, 2, 4 … 64 s later, two minutes in all. */
const receiptJob = ({ receipts, routing }: Pick<Parts, 'receipts' | 'routing'>): Kind<CarrierReceipt, void> => ({
  kind: 'sms.receipt',
  concurrency: 16,
  leaseSeconds: 30,
  maxAttempts: 8,
  run: async ({ payload, attempt }) => {
    const connection = routing.connections().find(({ connection }) => connection === payload.connection)
    const seconds = (connection?.validSeconds ?? defaultValidSeconds) + graceSeconds
    if (await receipts.early(payload, attempt < adopting ? null : seconds)) return
    if (attempt === 8) throw new GiveUp('no part has this id')
    throw new Retry('no part has this id yet', 2 ** (attempt - 1))
  },
})

/** The background work of this folder. */
export const smsJobs = (parts: Parts): Kind[] => {
  const { db, carriers, routing, clock, config, sandboxAccounts } = parts
  const run = makeSubmit({
    routing,
    clock,
    sandboxAccounts,
    courier: makeCourier(carriers, makeHealth()),
    order: makeOrder((id) => isQueued(db, id)),
    steps: makeSteps(db, carriers.unwritten, config.optOut),
  })
  return [submitJob(parts, run), receiptJob(parts)]
}

/** Waiting texts that are looked through at a time, and in a transaction. */
const pageSize = 1_000
const mostPages = 20

/**
 * While no carrier is connected no text is looked at: those whose validity has passed meanwhile end here. Texts of a longer
 * validity may stand before them, so each run goes on where the one before ended, and begins anew after the last.
 * @returns where the next run goes on
 */
const expireWaiting = async (
  tx: Tx,
  at: Date,
  { routing, sandboxAccounts }: Pick<Parts, 'routing' | 'sandboxAccounts'>,
  from: LongDue<Submission> | null,
): Promise<LongDue<Submission> | null> => {
  const validities = routing.connections().map(({ validSeconds }) => validSeconds ?? defaultValidSeconds)
  const shortest = Math.min(defaultValidSeconds, ...validities)
  const before = new Date(at.getTime() - shortest * 1_000)
  const isOver = ({ account, payload, createdAt }: LongDue<Submission>) => {
    const isSandbox = account !== null && sandboxAccounts.has(account)
    return validUntil(payload, createdAt, routing.decide(payload.to, isSandbox).candidates[0]) <= at.getTime()
  }
  const expired: states.Ended[] = []
  let after = from
  for (let pages = 0; pages < mostPages; pages++) {
    const waiting = await longDue<Submission>(tx, submitKind, before, { after, limit: pageSize })
    for (const job of waiting) {
      const { id, account } = job
      if (account !== null && isOver(job) && (await withdraw(tx, id)))
        expired.push({ account, id, status: 'expired', code: 'validity' })
    }
    after = waiting.length < pageSize ? null : (waiting.at(-1) ?? null)
    if (after === null) break
  }
  await endUnsent(tx, expired)
  return after
}

/** The background work of this folder that comes round. */
export const smsSchedules = ({ routing, stray, prices, sandboxAccounts }: Parts): Schedule[] => {
  let looked: LongDue<Submission> | null = null
  return [
    {
      name: 'receive-incomplete-texts',
      every: 600,
      run: (tx) => receiveIncomplete(tx, { stray, prices }),
    },
    {
      name: 'expire-waiting-texts',
      every: 60,
      run: async (tx, at) => {
        looked = await expireWaiting(tx, at, { routing, sandboxAccounts }, looked)
      },
    },
    {
      name: 'mark-missing-receipts',
      every: 60,
      run: async (tx) => {
        for (const { connection, validSeconds } of routing.connections())
          await states.markMissing(tx, connection, (validSeconds ?? defaultValidSeconds) + graceSeconds)
      },
    },
    {
      name: 'forget-sms-traces',
      every: 600,
      run: async (tx) => {
        await forgetSeen(tx)
        await forgetReferences(tx)
      },
    },
  ]
}
