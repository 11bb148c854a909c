import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { enqueueAll } from '../../../platform/jobs/queue.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import type { ReceiptState } from '../../../ports/sms.ts'
import { applyFinalReceipts } from '../completion-store.ts'
import { earlyReceiptDelayMs } from '../limits.ts'
import { publishEvents } from '../message-presenter.ts'
import * as states from '../state-transition-store.ts'
import type { CarrierReceipt } from './carrier-receipt.ts'
import {
  adoptDoubtfulParts,
  findOwnParts,
  findPartsOfHandsets,
  handsetSuffixes,
  type MatchedPart,
  makeReceiptCorrelator,
  type ReceiptCorrelator,
} from './receipt-correlation.ts'

/** Whether a state does not change any more. */
export const isFinal = (state: ReceiptState) => !['enroute', 'accepted', 'unknown'].includes(state)

type PartStatusChange = states.PartChange & { parts: number }

/** The state of a part by a receipt. */
type ReportedState = Pick<CarrierReceipt, 'state' | 'error'>

/** Chooses one receipt per part: a delivery, else the last final one, else the last. */
const mostSignificant = (found: readonly MatchedPart[], receipts: readonly ReportedState[]): PartStatusChange[] => {
  const changes = new Map<string, PartStatusChange & { rank: number }>()
  for (const { n, account_id, message_id, part, parts } of found) {
    const receipt = receipts[n]
    if (!receipt) continue
    const key = `${message_id} ${part}`
    const rank = receipt.state === 'delivered' ? 2 : isFinal(receipt.state) ? 1 : 0
    if ((changes.get(key)?.rank ?? 0) > rank) continue
    const status = receipt.state
    changes.set(key, { account: account_id, message: message_id, part, parts, status, error: receipt.error, rank })
  }
  return [...changes.values()]
}

const byMessage = (a: states.PartChange, b: states.PartChange) => (a.message < b.message ? -1 : 1)

const applyFound = async (tx: Tx, found: readonly MatchedPart[], receipts: readonly ReportedState[]): Promise<void> => {
  // Lock order: docs/locks.md.
  const changes = mostSignificant(found, receipts).sort(byMessage)
  if (changes.length === 0) return
  const messages = [...new Map(changes.map(({ account, message }) => [message, { account, id: message }])).values()]
  await states.lockMessages(tx, messages)
  await states.updateParts(tx, changes)
  await publishEvents(tx, await states.deriveStatus(tx, messages))
}

/** Applies a state of a part that is known, as a receipt. The transaction must have index plans. */
export const applyReceipt = (tx: Tx, part: Omit<MatchedPart, 'n'>, receipt: ReportedState): Promise<void> =>
  applyFound(tx, [{ ...part, n: 0 }], [receipt])

const earlyKind = 'sms.receipt'

type ApplyOptions = {
  readonly db: Db
  readonly clock: Clock
  readonly correlator: ReceiptCorrelator
  /** Whether receipts without a known part are queued for a retry. */
  readonly queuesUnknown: boolean
  /** Age limit in seconds of parts of unknown fate that a receipt may be matched to; null: no such match. */
  readonly adoptSeconds: number | null
}

/** Returns the messages of parts, each once. */
const messagesOf = (found: readonly MatchedPart[]): { account: string; id: string }[] => [
  ...new Map(found.map((one) => [one.message_id, { account: one.account_id, id: one.message_id }])).values(),
]

/** Matches receipts to parts of unknown fate, confirming them as accepted, and updates their messages. */
const confirmDoubtfulParts = async (tx: Tx, missing: readonly (CarrierReceipt & { n: number })[], seconds: number) => {
  const found = await adoptDoubtfulParts(tx, missing, seconds)
  await confirmMessages(tx, found)
  return found
}

/**
 * Matches receipts to the parts that their tokens name, and updates the messages of those that they confirm.
 * @param others parts that the transaction will change, too: all messages are locked at once (docs/locks.md)
 */
const matchOwnParts = async (
  tx: Tx,
  receipts: readonly (CarrierReceipt & { n: number })[],
  others: readonly MatchedPart[],
) => {
  const own = receipts.flatMap(({ ours }) => (ours ? [{ account: ours.account, id: ours.message }] : []))
  if (own.length === 0) return []
  await states.lockMessages(tx, [...new Map([...own, ...messagesOf(others)].map((one) => [one.id, one])).values()])
  const found = await findOwnParts(tx, receipts)
  await confirmMessages(
    tx,
    found.filter(({ isAdopted }) => isAdopted),
  )
  return found
}

/** Updates messages whose parts of unknown fate were confirmed. */
const confirmMessages = async (tx: Tx, found: readonly MatchedPart[]): Promise<void> => {
  const messages = messagesOf(found)
  if (messages.length === 0) return
  await states.lockMessages(tx, messages)
  await publishEvents(tx, await states.deriveStatus(tx, messages))
}

/** Returns the final receipts of a batch that one statement can apply, one per part: a delivery, else the last. */
const finalsOf = (receipts: readonly CarrierReceipt[], matcher: ReceiptCorrelator) => {
  const finals = new Map<string, { receipt: CarrierReceipt; carrierId: string }>()
  for (const receipt of receipts) {
    // A token is more certain than an id.
    const carrierId = isFinal(receipt.state) && !receipt.ours ? matcher.keyOf(receipt) : null
    const key = `${receipt.connection} ${carrierId} ${receipt.handset ?? ''}`
    const isBeaten = finals.get(key)?.receipt.state === 'delivered' && receipt.state !== 'delivered'
    if (carrierId !== null && !isBeaten) finals.set(key, { receipt, carrierId })
  }
  return [...finals.values()]
}

/** Applies final receipts on the hot path. @returns the receipts that remain */
const applyFinals = async (
  { db, correlator }: ApplyOptions,
  receipts: readonly CarrierReceipt[],
): Promise<CarrierReceipt[]> => {
  const finals = finalsOf(receipts, correlator)
  if (finals.length === 0) return [...receipts]
  const done = await applyFinalReceipts(
    db,
    finals.map(({ receipt, carrierId }) => ({
      connection: receipt.connection,
      carrierId,
      status: receipt.state,
      error: receipt.error,
      handsets: handsetSuffixes(receipt),
    })),
  )
  const applied = new Set(finals.filter((_, n) => done.has(n)).map(({ receipt }) => receipt))
  return receipts.filter((receipt) => !applied.has(receipt))
}

/** Applies receipts. @returns for each, whether its part is known */
const apply = async (how: ApplyOptions, receipts: readonly CarrierReceipt[]): Promise<boolean[]> => {
  const rest = await applyFinals(how, receipts)
  if (rest.length === 0) return receipts.map(() => true)
  const known = new Map((await applyInTransaction(how, rest)).map((isKnown, i) => [rest[i], isKnown]))
  return receipts.map((receipt) => known.get(receipt) ?? true)
}

const applyInTransaction = (how: ApplyOptions, receipts: readonly CarrierReceipt[]): Promise<boolean[]> =>
  how.db.begin(async (tx) => {
    await states.forceIndexPlans(tx)
    const numbered = receipts.map((receipt, n) => ({ ...receipt, n }))
    const named = numbered.filter(({ ours }) => !ours)
    const byId = (await how.correlator.find(tx, named)).map((one) => ({ ...one, n: named[one.n]?.n ?? -1 }))
    const found = [...byId, ...(await matchOwnParts(tx, numbered, byId))]
    const known = new Set(found.map(({ n }) => n))
    const missing = named.filter(({ n }) => !known.has(n))
    const others = how.adoptSeconds === null ? [] : await confirmDoubtfulParts(tx, missing, how.adoptSeconds)
    for (const { n } of others) known.add(n)
    await applyFound(tx, [...found, ...others], receipts)
    const early = receipts.filter((_, n) => !known.has(n))
    if (how.queuesUnknown && early.length > 0) {
      const runAt = new Date(how.clock.now() + earlyReceiptDelayMs)
      await enqueueAll(
        tx,
        earlyKind,
        early.map((payload) => ({ payload: { ...payload }, runAt })),
      )
    }
    return receipts.map((_, n) => known.has(n))
  })

/** Applies receipts that handsets may have written. @returns for each, whether its part is known */
const applySent = (db: Db, receipts: readonly CarrierReceipt[]): Promise<boolean[]> =>
  db.begin(async (tx) => {
    await states.forceIndexPlans(tx)
    const found = await findPartsOfHandsets(tx, receipts)
    await applyFound(tx, found, receipts)
    const known = new Set(found.map(({ n }) => n))
    return receipts.map((_, n) => known.has(n))
  })

export type ReceiptProcessor = {
  /** Applies a receipt, many in a transaction. Returns false if its part is unknown; the receipt is then queued for a
   *  retry. */
  add(receipt: CarrierReceipt): Promise<boolean>
  /** Applies a receipt that a handset may have written, if a part was sent to that handset under its id. */
  addIfSent(receipt: CarrierReceipt): Promise<boolean>
  /**
   * Retries a queued receipt; returns false if its part is still unknown.
   * @param adoptSeconds age limit in seconds of parts of unknown fate to match; null: none
   */
  retryEarly(receipt: CarrierReceipt, adoptSeconds: number | null): Promise<boolean>
}

export const makeReceiptProcessor = (db: Db, clock: Clock): ReceiptProcessor => {
  const matcher = makeReceiptCorrelator()
  const batcher = makeBatcher<CarrierReceipt, boolean>(
    (receipts) => apply({ db, clock, correlator: matcher, queuesUnknown: true, adoptSeconds: null }, receipts),
    // A statement costs about 400 µs, each receipt in it another 25 µs.
    { spacingMs: 5 },
  )
  const unproven = makeBatcher<CarrierReceipt, boolean>((receipts) => applySent(db, receipts), { spacingMs: 5 })
  return {
    add: batcher.add,
    addIfSent: unproven.add,
    retryEarly: async (receipt, adoptSeconds) => {
      const [isKnown = false] = await apply({ db, clock, correlator: matcher, queuesUnknown: false, adoptSeconds }, [
        receipt,
      ])
      return isKnown
    },
  }
}
