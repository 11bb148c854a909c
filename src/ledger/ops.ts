import type { Tx } from '../db/sql.ts'
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

/** Money that came in from outside. Null when there is no such account, or it would hold more than 9,000,000,000; else
 *  the new balance. */
export const deposit = async (tx: Tx, account: string, amount: Micros, what: What): Promise<Micros | null> => {
  const moved = await store.move(tx, account, decimal(amount))
  if (!moved) return null
  await post(tx, account, 'cash', 'balance', amount, what)
  return micros(moved.balance)
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
  const moved = await store.move(tx, account, decimal(-amount))
  if (!moved) return insufficient(`The balance does not cover USD ${decimal(amount)}: add credit to the account`)
  return post(tx, account, 'balance', book, amount, what)
}

/** Gives money back. */
export const refund = async (tx: Tx, account: string, amount: Micros, book: Book, what: What): Promise<void> => {
  if (amount === 0) return
  await store.move(tx, account, decimal(amount))
  await post(tx, account, book, 'balance', amount, what)
}
