import type { Sql, Tx } from '../db/sql.ts'
import { insufficient } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { decimal, type Micros, micros } from '../lib/money.ts'
import * as store from './store.ts'

/** The book that a sale goes to. */
export type Book = 'sms' | 'numbers' | 'calls'

type What = { kind: string; reference?: string | null; note?: string | null }

const post = async (tx: Tx, account: string, debit: string, credit: string, amount: Micros, what: What) => {
  const id = uuid()
  const { kind, reference = null, note = null } = what
  await store.insert(tx, { account, id, debit, credit, amount: decimal(amount), kind, reference, note })
  return id
}

const uncovered = (amount: Micros): never =>
  insufficient(`The balance does not cover USD ${decimal(amount)}: add credit to the account`)

/** Takes from the balance. Throws the 402 Problem when it does not cover that. */
const take = async (tx: Tx, account: string, amount: Micros): Promise<void> => {
  const moved = await store.move(tx, account, decimal(-amount))
  if (!moved) uncovered(amount)
}

/** Money that came in from outside. Null when there is no such account, or it would hold more than 9,000,000,000; else
 *  the new balance and the transfer's id. */
export const deposit = async (
  tx: Tx,
  account: string,
  amount: Micros,
  what: What,
): Promise<{ balance: Micros; transfer: string } | null> => {
  const moved = await store.move(tx, account, decimal(amount))
  if (!moved) return null
  const transfer = await post(tx, account, 'cash', 'balance', amount, what)
  return { balance: micros(moved.balance) ?? 0, transfer }
}

/** Takes the price of something from the balance, and gives back the transfer's id (null for what is free).
 *  Throws the 402 Problem when the balance does not cover it. */
export const charge = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: Book,
  what: What,
): Promise<string | null> => {
  if (amount === 0) return null
  await take(tx, account, amount)
  return post(tx, account, 'balance', book, amount, what)
}

/** Looks whether the balance covers something at this moment, before work is done for it elsewhere. What is taken is looked
 *  at again. @throws the 402 Problem */
export const expectBalance = async (db: Sql, account: string, amount: Micros): Promise<void> => {
  const row = await store.balance(db, account)
  if ((micros(row?.balance ?? '0') ?? 0) < amount) uncovered(amount)
}

/** Gives money back. */
export const refund = async (tx: Tx, account: string, amount: Micros, book: Book, what: What): Promise<void> => {
  if (amount === 0) return
  await store.restore(tx, account, decimal(amount))
  await post(tx, account, book, 'balance', amount, what)
}

/**
 * Sets money aside for something whose price is known at its end. It stays so until `capture` or `release`: whoever holds
 * sees to it, after a crash too (`staleHolds`).
 * @param what the kind and reference of the sale, as the capture will say them
 * @returns the hold's id
 * @throws the 402 Problem when the balance does not cover it
 */
export const hold = async (
  tx: Tx,
  account: string,
  amount: Micros,
  book: Book,
  { kind, reference }: { kind: string; reference: string },
): Promise<string> => {
  await take(tx, account, amount)
  const id = uuid()
  await store.addHold(tx, { account_id: account, id, book, kind, reference, amount: decimal(amount) })
  if (amount > 0) await post(tx, account, 'balance', 'held', amount, { kind: 'hold', reference })
  return id
}

/** Sets more aside under the same hold. False when it has ended, and nothing is taken.
 *  @throws the 402 Problem when the balance does not cover it: the hold stays as it was */
export const extend = async (tx: Tx, account: string, id: string, amount: Micros): Promise<boolean> => {
  await store.lock(tx, account)
  const open = await store.openHold(tx, account, id)
  if (!open) return false
  if (amount === 0) return true
  await take(tx, account, amount)
  await store.growHold(tx, account, id, decimal(amount))
  await post(tx, account, 'balance', 'held', amount, { kind: 'hold', reference: open.reference })
  return true
}

/**
 * Ends a hold: so much of it is paid, the rest goes back to the balance.
 * @returns false when it had ended before: what is captured is captured once
 * @throws Error when more is asked for than is held
 */
export const capture = async (tx: Tx, account: string, id: string, amount: Micros): Promise<boolean> => {
  await store.lock(tx, account)
  const ended = await store.endHold(tx, account, id)
  if (!ended) return false
  const { book, kind, reference } = ended
  const rest = (micros(ended.amount) ?? 0) - amount
  if (rest < 0) throw new Error(`the hold ${id} has ${ended.amount}, not ${decimal(amount)}`)
  if (amount > 0) await post(tx, account, 'held', book, amount, { kind, reference })
  if (rest > 0) {
    await store.restore(tx, account, decimal(rest))
    await post(tx, account, 'held', 'balance', rest, { kind: 'release', reference })
  }
  return true
}

/** Ends a hold of which nothing is to be paid. @returns false when it had ended before */
export const release = (tx: Tx, account: string, id: string): Promise<boolean> => capture(tx, account, id, 0)

export type Hold = { account: string; id: string; reference: string; amount: Micros; createdAt: Date }

/** Open holds of a book that are older than this, in all accounts, oldest first: what a process left behind is among them. */
export const staleHolds = async (db: Sql, book: Book, before: Date, limit = 500): Promise<Hold[]> =>
  (await store.olderHolds(db, book, before, limit)).map((row) => ({
    account: row.account_id,
    id: row.id,
    reference: row.reference,
    amount: micros(row.amount) ?? 0,
    createdAt: row.created_at,
  }))
