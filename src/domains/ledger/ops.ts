import type { Sql, Tx } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import { decimal, type Micros, micros } from '../../platform/lib/money.ts'
import { presentLowBalance } from './balance-presenter.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import type { TransferKind } from './transfer-kinds.ts'

/** Book of a sale. */
export type Book = 'sms' | 'numbers' | 'calls'

/** Details of a transfer. `by`: id of the requesting key, without prefix; null for the platform itself. */
type TransferDetails = {
  kind: TransferKind
  reference?: string | null
  note?: string | null
  by?: string | null
  /** Id of the transfer that this one corrects or refunds, without prefix. */
  adjusts?: string | null
}

const post = async (tx: Tx, account: string, debit: string, credit: string, amount: Micros, what: TransferDetails) => {
  const id = uuid()
  const { kind, reference = null, note = null, by = null, adjusts = null } = what
  const transfer = { account, id, debit, credit, amount: decimal(amount), kind, reference, note, made_by: by, adjusts }
  await store.insert(tx, transfer)
  return id
}

/** Debits the balance. @throws the 402 Problem if the balance does not cover the amount */
const debitBalance = async (tx: Tx, account: string, amount: Micros): Promise<void> => {
  const moved = await store.adjustBalance(tx, account, decimal(-amount), 'above zero')
  if (!moved) throw refusals.insufficientBalance(decimal(amount))
}

/** Keys with a daily spend limit that count an amount; null: none. See `limitedKeys` of an account. */
export type LimitedKeys = store.LimitedKeys

/**
 * Checks that keys with a daily spend limit may spend an amount, and locks the balance, so that it may be spent until the
 * end of the transaction. Costs nothing without such keys.
 * @throws the 402 Problem `key_spend_limit`, before any change
 */
export const assertKeysMaySpend = async (tx: Tx, account: string, keys: LimitedKeys, amount: Micros): Promise<void> => {
  if (keys === null || amount === 0) return
  const exceeded = await store.exceededLimit(tx, account, keys, decimal(amount))
  if (exceeded !== null) throw refusals.keySpendLimit(decimal(micros(exceeded) ?? 0))
}

/** Adds a payment to what keys with a daily spend limit have spent today. */
export const countKeySpending = async (tx: Tx, account: string, keys: LimitedKeys, amount: Micros): Promise<void> => {
  if (keys !== null && amount > 0) await store.addKeySpending(tx, account, keys, decimal(amount))
}

/** New balance and transfer id of an adjustment. */
type AdjustResult = { balance: Micros; transfer: string }

/** Counts a correction of a transfer. @returns the transfer that it adjusts
 *  @throws the 409 Problem if the corrections and refunds of a transfer would exceed it */
const assertCorrection = async (tx: Tx, account: string, id: string, amount: Micros): Promise<string> => {
  const adjusted = await store.addCorrection(tx, account, id, decimal(amount))
  if (adjusted) return adjusted.id
  const row = (await store.correctable(tx, account, id)) ?? refuse(refusals.unknownTransfer(print('TRF', id)))
  const [total, before] = [micros(row.amount) ?? 0, micros(row.adjusted) ?? 0]
  // Below zero for a transfer that an earlier version corrected without a limit.
  const left = Math.max(0, amount < 0 ? total + before : total - before)
  throw refusals.correctionTooHigh(print('TRF', id), decimal(total), decimal(left), amount < 0)
}

/**
 * Credits or debits the balance against another book.
 * @param amount negative to debit; not zero
 * @param floor `above zero`: a debit beyond the balance is refused
 * @param what `adjusts`: a transfer to correct
 * @returns null if the account does not exist, or the balance would pass the floor or 9,000,000,000
 * @throws the 409 Problem if the corrections and refunds of a transfer would exceed it
 */
export const adjust = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: 'cash' | 'corrections' | 'written_off',
  what: TransferDetails,
  floor: store.Floor = 'none',
): Promise<AdjustResult | null> => {
  const moved = await store.adjustBalance(tx, account, decimal(amount), amount < 0 ? floor : 'none')
  if (!moved) return null
  const [debit, credit] = amount < 0 ? ['balance', book] : [book, 'balance']
  const adjusts = what.adjusts ? await assertCorrection(tx, account, what.adjusts, amount) : null
  const transfer = await post(tx, account, debit, credit, Math.abs(amount), { ...what, adjusts })
  return { balance: micros(moved.balance) ?? 0, transfer }
}

/** Locks the balance of an account until the end of the transaction. Returns it with the number of open holds. */
export const lockedBalance = async (tx: Tx, account: string): Promise<{ balance: Micros; holds: number }> => {
  await store.lock(tx, account)
  const [row, holds] = [await store.balance(tx, account), await store.countHolds(tx, account)]
  return { balance: micros(row?.balance ?? '0') ?? 0, holds }
}

/** Deposits external money. Returns null if the account does not exist, or would hold more than 9,000,000,000. */
export const deposit = async (
  tx: Tx,
  account: string,
  amount: Micros,
  what: TransferDetails,
): Promise<AdjustResult | null> => adjust(tx, account, amount, 'cash', what)

/** Charges a price to the balance. @returns the transfer id, or null for a price of zero
 *  @throws the 402 Problem if the balance, or the limit of a key, does not cover the price; before any change */
export const charge = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: Book,
  { limitedKeys, ...what }: TransferDetails & { limitedKeys: LimitedKeys },
): Promise<string | null> => {
  if (amount === 0) return null
  await assertKeysMaySpend(tx, account, limitedKeys, amount)
  await debitBalance(tx, account, amount)
  await countKeySpending(tx, account, limitedKeys, amount)
  return post(tx, account, 'balance', book, amount, what)
}

/** Checks that the balance covers an amount now, before external work. The charge checks again. @throws the 402
 *  Problem */
export const assertBalance = async (db: Sql, account: string, amount: Micros): Promise<void> => {
  const row = await store.balance(db, account)
  if ((micros(row?.balance ?? '0') ?? 0) < amount) throw refusals.insufficientBalance(decimal(amount))
}

/**
 * Refunds an amount of a transfer, or what corrections and other refunds left of it.
 * @param what `adjusts`: the transfer; null for an item of an old version, which did not store it
 */
export const refund = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: Book,
  what: TransferDetails & { adjusts: string | null },
): Promise<void> => {
  if (amount === 0) return
  if (what.adjusts === null) {
    await store.restore(tx, account, decimal(amount))
    await post(tx, account, book, 'balance', amount, what)
    return
  }
  await store.lock(tx, account)
  const refunded = await store.refundTransfer(tx, account, what.adjusts, decimal(amount))
  if (refunded) await post(tx, account, book, 'balance', micros(refunded.amount) ?? 0, what)
}

/**
 * Refunds many items that one transfer paid for: as `refund` does for each, in three statements.
 * @param adjusts the transfer
 */
export const refundAll = async (
  tx: Tx,
  account: string,
  book: Book,
  { kind, adjusts }: { readonly kind: TransferKind; readonly adjusts: string },
  items: readonly { readonly reference: string; readonly amount: Micros }[],
): Promise<void> => {
  const paid = items.filter(({ amount }) => amount > 0)
  if (paid.length === 0) return
  await store.lock(tx, account)
  const total = paid.reduce((sum, { amount }) => sum + amount, 0)
  if (await store.refundWhole(tx, account, adjusts, decimal(total))) {
    const rows = paid.map(({ reference, amount }) => ({ id: uuid(), reference, amount: decimal(amount) }))
    await store.insertRefunds(tx, { account, book, kind, adjusts }, rows)
    return
  }
  // Corrections of the transfer left less than that.
  for (const { reference, amount } of paid) await refund(tx, account, amount, book, { kind, reference, adjusts })
}

/**
 * Holds money for an operation whose price is known only at its end. The caller must end the hold with `capture` or
 * `release`, also after a crash (`staleHolds`).
 * @param what kind and reference of the sale, as used by the capture
 * @returns the id of the hold
 * @throws the 402 Problem if the balance, or the limit of a key, does not cover the amount; before any change
 */
export const hold = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: Book,
  {
    kind,
    reference,
    by = null,
    limitedKeys,
  }: { kind: TransferKind; reference: string; by?: string | null; limitedKeys: LimitedKeys },
): Promise<string> => {
  await assertKeysMaySpend(tx, account, limitedKeys, amount)
  await debitBalance(tx, account, amount)
  const id = uuid()
  const sale = { book, kind, reference, made_by: by, limited_keys: limitedKeys }
  await store.addHold(tx, { account_id: account, id, ...sale, amount: decimal(amount) })
  if (amount > 0) await post(tx, account, 'balance', 'held', amount, { kind: 'hold', reference, by })
  return id
}

/** Increases a hold. Returns false, without a debit, if the hold has ended.
 *  @throws the 402 Problem if the balance, or the limit of a key, does not cover the amount; the hold is unchanged */
export const extend = async (tx: Tx, account: string, id: string, amount: Micros): Promise<boolean> => {
  await store.lock(tx, account)
  const open = await store.openHold(tx, account, id)
  if (!open) return false
  if (amount === 0) return true
  await assertKeysMaySpend(tx, account, open.limited_keys, amount)
  await debitBalance(tx, account, amount)
  await store.growHold(tx, account, id, decimal(amount))
  await post(tx, account, 'balance', 'held', amount, { kind: 'hold', reference: open.reference, by: open.made_by })
  return true
}

/**
 * Ends a hold: pays an amount of it and releases the rest to the balance.
 * @returns false if the hold had ended before: a hold is captured once
 * @throws Error if the amount exceeds the hold
 */
export const capture = async (tx: Tx, account: string, id: string, amount: Micros): Promise<boolean> => {
  await store.lock(tx, account)
  const ended = await store.endHold(tx, account, id)
  if (!ended) return false
  const { book, kind, reference, made_by: by } = ended
  const rest = (micros(ended.amount) ?? 0) - amount
  if (rest < 0) throw new Error(`the hold ${id} has ${ended.amount}, not ${decimal(amount)}`)
  if (amount > 0) await post(tx, account, 'held', book, amount, { kind, reference, by })
  await countKeySpending(tx, account, ended.limited_keys, amount)
  if (rest > 0) {
    await store.restore(tx, account, decimal(rest))
    await post(tx, account, 'held', 'balance', rest, { kind: 'release', reference, by })
  }
  return true
}

/** Ends a hold without a payment. @returns false if the hold had ended before */
export const release = (tx: Tx, account: string, id: string): Promise<boolean> => capture(tx, account, id, 0)

export type Hold = { account: string; id: string; reference: string; amount: Micros; createdAt: Date }

/** Lists open holds of a book made before a time, in all accounts, oldest first; includes holds that a crash left
 *  behind. */
export const staleHolds = async (db: Sql, book: Book, before: Date, limit = 500): Promise<Hold[]> =>
  (await store.olderHolds(db, book, before, limit)).map((row) => ({
    account: row.account_id,
    id: row.id,
    reference: row.reference,
    amount: micros(row.amount) ?? 0,
    createdAt: row.created_at,
  }))

/** Returns the balance of an account, without what is held. */
export const balanceOf = async (db: Sql, account: string): Promise<Micros> =>
  micros((await store.balance(db, account))?.balance ?? '0') ?? 0

/** Returns the money that is held for pending operations. */
export const heldOf = async (db: Sql, account: string): Promise<Micros> =>
  micros((await store.balance(db, account))?.held ?? '0') ?? 0

/** Returns balance and limit as published in `balance.low`; null for an account without a limit. */
export const balanceWithLimit = async (sql: Sql, account: string) => {
  const row = await store.balanceWithLimit(sql, account)
  return row && presentLowBalance(row, row.now)
}
