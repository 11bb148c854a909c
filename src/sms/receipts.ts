import type { SmsReceipt } from '../connectors/port.ts'
import { makeBatcher } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import { enqueueAll } from '../jobs/queue.ts'
import type { Clock } from '../lib/clock.ts'
import { adopt, type Found, handsetsOf, type Matcher, makeMatcher } from './matching.ts'
import { reportFinals } from './settle.ts'
import { tell } from './shown.ts'
import * as states from './states.ts'

/** A receipt with the connection that it came over. */
export type CarrierReceipt = SmsReceipt & { connection: string }

/** What a receipt makes of a part (SMPP 3.4, 5.2.28). */
const statusOf: Record<SmsReceipt['state'], string> = {
  DELIVERED: 'delivered',
  EXPIRED: 'expired',
  DELETED: 'undelivered',
  UNDELIVERABLE: 'undelivered',
  REJECTED: 'rejected',
  ENROUTE: 'enroute',
  ACCEPTED: 'accepted',
  UNKNOWN: 'unknown',
}

const isFinal = (state: SmsReceipt['state']) => !['ENROUTE', 'ACCEPTED', 'UNKNOWN'].includes(state)

type Change = states.PartChange & { parts: number }

/** Of several receipts for one part a delivery counts, else the last final one, else the last. */
const latest = (found: readonly Found[], receipts: readonly CarrierReceipt[]): Change[] => {
  const changes = new Map<string, Change & { rank: number }>()
  for (const { n, account_id, message_id, part, parts } of found) {
    const receipt = receipts[n]
    if (!receipt) continue
    const key = `${message_id} ${part}`
    const rank = receipt.state === 'DELIVERED' ? 2 : isFinal(receipt.state) ? 1 : 0
    if ((changes.get(key)?.rank ?? 0) > rank) continue
    const status = statusOf[receipt.state]
    changes.set(key, { account: account_id, message: message_id, part, parts, status, error: receipt.error, rank })
  }
  return [...changes.values()]
}

const byMessage = (a: states.PartChange, b: states.PartChange) => (a.message < b.message ? -1 : 1)

const applyFound = async (tx: Tx, found: readonly Found[], receipts: readonly CarrierReceipt[]): Promise<void> => {
  // In one order, so that two batches cannot wait for each other.
  const changes = latest(found, receipts).sort(byMessage)
  if (changes.length === 0) return
  const messages = [...new Map(changes.map(({ account, message }) => [message, { account, id: message }])).values()]
  await states.lock(tx, messages)
  await states.changeParts(tx, changes)
  await tell(tx, await states.fold(tx, messages))
}

const earlyKind = 'sms.receipt'
/** Submit and receipt race: a receipt waits this long for its part before it is looked for again. */
const firstWaitMs = 300

type How = {
  readonly db: Db
  readonly clock: Clock
  readonly matcher: Matcher
  /** Receipts whose part is not known wait in the queue. */
  readonly keepsUnknown: boolean
  /** They may speak of a part of unknown fate that was submitted at most so many seconds ago. */
  readonly adoptSeconds: number | null
}

/** The parts that these receipts are the first to say of that a carrier has them. Their messages are sent. */
const adopted = async (tx: Tx, missing: readonly (CarrierReceipt & { n: number })[], seconds: number) => {
  const found = await adopt(tx, missing, seconds)
  const messages = found.map(({ account_id, message_id }) => ({ account: account_id, id: message_id }))
  if (messages.length === 0) return found
  await states.lock(tx, messages)
  await tell(tx, await states.fold(tx, messages))
  return found
}

/** The receipts of a batch that may be written down at once, by what they speak of: of several a delivery, else the last. */
const finalsOf = (receipts: readonly CarrierReceipt[], matcher: Matcher) => {
  const finals = new Map<string, { receipt: CarrierReceipt; carrierId: string }>()
  for (const receipt of receipts) {
    const carrierId = isFinal(receipt.state) ? matcher.keyOf(receipt) : null
    const key = `${receipt.connection} ${carrierId} ${receipt.handset ?? ''}`
    const isBeaten = finals.get(key)?.receipt.state === 'DELIVERED' && receipt.state !== 'DELIVERED'
    if (carrierId !== null && !isBeaten) finals.set(key, { receipt, carrierId })
  }
  return [...finals.values()]
}

/** Writes down at once what most receipts say. @returns the others */
const applyFinals = async ({ db, matcher }: How, receipts: readonly CarrierReceipt[]): Promise<CarrierReceipt[]> => {
  const finals = finalsOf(receipts, matcher)
  if (finals.length === 0) return [...receipts]
  const done = await reportFinals(
    db,
    finals.map(({ receipt, carrierId }) => ({
      connection: receipt.connection,
      carrierId,
      status: statusOf[receipt.state],
      error: receipt.error,
      handsets: handsetsOf(receipt),
    })),
  )
  const told = new Set(finals.filter((_, n) => done.has(n)).map(({ receipt }) => receipt))
  return receipts.filter((receipt) => !told.has(receipt))
}

/** Gives for each receipt whether its part is known. */
const apply = async (how: How, receipts: readonly CarrierReceipt[]): Promise<boolean[]> => {
  const rest = await applyFinals(how, receipts)
  if (rest.length === 0) return receipts.map(() => true)
  const known = new Map((await applyOthers(how, rest)).map((isKnown, i) => [rest[i], isKnown]))
  return receipts.map((receipt) => known.get(receipt) ?? true)
}

const applyOthers = (how: How, receipts: readonly CarrierReceipt[]): Promise<boolean[]> =>
  how.db.begin(async (tx) => {
    await states.byIndex(tx)
    const found = await how.matcher.find(tx, receipts)
    const known = new Set(found.map(({ n }) => n))
    const missing = receipts.map((receipt, n) => ({ ...receipt, n })).filter(({ n }) => !known.has(n))
    const others = how.adoptSeconds === null ? [] : await adopted(tx, missing, how.adoptSeconds)
    for (const { n } of others) known.add(n)
    await applyFound(tx, [...found, ...others], receipts)
    const early = receipts.filter((_, n) => !known.has(n))
    if (how.keepsUnknown && early.length > 0) {
      const runAt = new Date(how.clock.now() + firstWaitMs)
      await enqueueAll(
        tx,
        earlyKind,
        early.map((payload) => ({ payload: { ...payload }, runAt })),
      )
    }
    return receipts.map((_, n) => known.has(n))
  })

export type Receipts = {
  /** Takes a receipt in, many to a transaction. One whose part is not known yet waits in the queue. False for those. */
  add(receipt: CarrierReceipt): Promise<boolean>
  /**
   * Applies one that came early; false when its part is still not known.
   * @param adoptSeconds it may speak of a part of unknown fate that was submitted at most so many seconds ago; null: of none
   */
  early(receipt: CarrierReceipt, adoptSeconds: number | null): Promise<boolean>
}

export const makeReceipts = (db: Db, clock: Clock): Receipts => {
  const matcher = makeMatcher()
  const batcher = makeBatcher<CarrierReceipt, boolean>(
    (receipts) => apply({ db, clock, matcher, keepsUnknown: true, adoptSeconds: null }, receipts),
    // A statement costs some 400 µs of its own, a receipt in it 25.
    { spacing: 5 },
  )
  return {
    add: batcher.add,
    early: async (receipt, adoptSeconds) => {
      const [isKnown = false] = await apply({ db, clock, matcher, keepsUnknown: false, adoptSeconds }, [receipt])
      return isKnown
    },
  }
}
