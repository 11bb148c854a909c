import type { Changes } from '../db/changes.ts'
import type { Sql, Tx } from '../db/sql.ts'
import { conflict, notFound, Problem } from '../http/problem.ts'
import { hasten } from '../jobs/ops.ts'
import { enqueue } from '../jobs/queue.ts'
import { charge } from '../ledger/ops.ts'
import { uuid } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import { handOver, letGo, take } from './handover.ts'
import * as inventory from './inventory.ts'
import * as orders from './orders.ts'
import * as owned from './owned.ts'
import * as store from './store.ts'
import { endSupply, newNumber, orderHeld, returnToSupplier } from './supply.ts'
import { tell } from './told.ts'

/** Asks for a reading of a supplier's catalogue: after its connection was made, changed or taken away. */
export const askForSync = async (tx: Tx, connection: string): Promise<void> => {
  // One that waits for its next attempt must not hold this one up.
  if ((await hasten(tx, 'numbers.sync', { key: connection })) > 0) return
  await enqueue(tx, 'numbers.sync', { connection }, { key: connection })
}

/** How many orders a supplier has not ended. */
export const openOrders = (tx: Tx, connection: string): Promise<number> => orders.openOf(tx, connection)

/** What an account asks to hold or buy. Without a number any free one; without a group, what it has reserved. */
export type Wish = { group: string | null; number: string | null }

/** The group by its id. @param anyhow also when it is not offered any more @throws the 404 Problem */
export const groupOf = async (sql: Sql, id: string, anyhow = false): Promise<store.PlacedGroup> =>
  (await store.group(sql, id, anyhow)) ?? notFound(`There is no number group ${id}`)

const unavailable = (number: string) => conflict(`${number} is not available`, 'number_unavailable')
const soldOut = (group: store.GroupRow) =>
  conflict(`The group ${group.id} (${group.location}) has no free number`, 'group_sold_out')

/** The number itself, locked and free, or else null. */
const freeNumber = async (tx: Tx, number: string, group: string | null): Promise<inventory.Locked | null> => {
  const found = await inventory.lock(tx, number)
  return found && (group === null || found.group_id === group) && found.state === 'free' ? found : null
}

/** Holds a number for the account and plans the end of that. @throws the 404 or 409 Problem */
export const reserve = async (
  tx: Tx,
  account: string,
  { group: groupId, number }: { group: string; number: string | null },
  minutes: number,
): Promise<inventory.ReservationRow> => {
  const group = await groupOf(tx, groupId)
  const found = number ? await freeNumber(tx, number, group.id) : await inventory.lockFree(tx, group.id)
  if (!found) return number ? unavailable(number) : soldOut(group)
  await inventory.setOwner(tx, found.number, 'held', account)
  const made = await inventory.addReservation(tx, account, uuid(), found, minutes)
  const payload = { account, id: made.id, number: made.number }
  await enqueue(tx, 'numbers.expire', payload, { account, runAt: made.expires_at })
  await inventory.count(tx, new Map([[found.group_id, -1]]))
  return made
}

/** Numbers that nobody holds any more: ours are free again, a supplier's goes back there. */
export const giveBack = async (tx: Tx, numbers: readonly inventory.Locked[]): Promise<void> => {
  const stock = new Map<string, number>()
  const ours = numbers.filter(({ supplier_id }) => supplier_id === null)
  for (const { number, supplier_id, account_id: account } of numbers)
    if (supplier_id !== null && account !== null) await returnToSupplier(tx, account, number)
  if (ours.length === 0) return
  await inventory.setFree(
    tx,
    ours.map(({ number }) => number),
  )
  for (const { group_id } of ours) stock.set(group_id, (stock.get(group_id) ?? 0) + 1)
  await inventory.count(tx, stock)
}

/** Gives a reserved number back. @throws the 404 or 409 Problem */
export const cancel = async (tx: Tx, account: string, id: string): Promise<inventory.ReservationRow> => {
  const found = (await inventory.reservation(tx, account, id)) ?? notFound(`There is no reservation ${id}`)
  const number = await inventory.lock(tx, found.number)
  if ((await inventory.cancelReservation(tx, account, id)) === 0 || !number) {
    const now = await inventory.reservation(tx, account, id)
    const state = now && now.state !== 'active' ? now.state : 'expired'
    return conflict(`The reservation of ${found.number} is already ${state}`, `reservation_${state}`)
  }
  await giveBack(tx, [number])
  return found
}

/** The numbers that a wish comes to, locked; and those that cannot be had. */
const choose = async (tx: Tx, account: string, { group: groupId, number }: Wish): Promise<inventory.Locked[]> => {
  const group = groupId === null ? null : await groupOf(tx, groupId)
  if (number !== null) {
    const found = await inventory.lock(tx, number)
    const isOurs =
      found?.state === 'held' && found.account_id === account && (await inventory.isReserved(tx, account, number))
    const isWanted = found && (group === null || found.group_id === group.id) && (found.state === 'free' || isOurs)
    return isWanted ? [found] : unavailable(number)
  }
  const reserved = await inventory.lockReserved(tx, account, group?.id ?? null)
  if (group === null)
    return reserved.length > 0 ? reserved : conflict('The account has no active reservation', 'nothing_reserved')
  const one = reserved[0] ?? (await inventory.lockFree(tx, group.id))
  return one ? [one] : soldOut(group)
}

/** Makes one locked number the account's: ours is charged for and ready at once, a supplier's is ordered. */
const buyOne = async (
  tx: Tx,
  account: string,
  { number, supplier_id }: inventory.Locked,
  group: store.PlacedGroup,
  name: string | null,
) => {
  if (supplier_id !== null) return orderHeld(tx, account, number, group, name)
  const [setup, month] = [micros(group.setup_price) ?? 0, micros(group.monthly_price) ?? 0]
  const note = `${number} set-up ${decimal(setup)}, first month ${decimal(month)}`
  await charge(tx, account, setup + month, 'numbers', { kind: 'number_purchase', reference: number, note })
  const status = group.needs_registration ? ('AWAITING_REGISTRATION' as const) : ('ACTIVE' as const)
  const row = await take(tx, newNumber(account, number, group, name, status))
  await inventory.setOwner(tx, number, 'owned', account)
  await inventory.useReservation(tx, account, number)
  await handOver(tx, row, group)
  return row
}

export type Bought = {
  numbers: owned.NumberRow[]
  failed: string[]
  /** Those of them for which the regulator asks something. */
  unregistered: owned.NumberRow[]
}

/**
 * Buys what the wish comes to. Each number is charged for and becomes the account's in the same transaction. Those that are
 * refused, as the balance does not cover them or their supplier sells them no more, are left; the last refusal of all is told.
 * @throws the 402, 404 or 409 Problem
 */
export const buy = async (tx: Tx, account: string, wish: Wish, name: string | null): Promise<Bought> => {
  const chosen = await choose(tx, account, wish)
  const bought: Bought = { numbers: [], failed: [], unregistered: [] }
  const stock = new Map<string, number>()
  let refusal: Problem | null = null
  for (const one of chosen) {
    try {
      // What is held stays for sale when its group is not offered any more.
      const group = await groupOf(tx, one.group_id, one.state === 'held')
      const row = await buyOne(tx, account, one, group, name)
      bought.numbers.push(row)
      if (group.needs_registration) bought.unregistered.push(row)
      if (one.state === 'free') stock.set(one.group_id, (stock.get(one.group_id) ?? 0) - 1)
    } catch (error) {
      // Refusals come before the charge, or are its own: nothing of this number has been changed.
      if (!(error instanceof Problem)) throw error
      refusal = error
      bought.failed.push(one.number)
    }
  }
  if (refusal && bought.numbers.length === 0) throw refusal
  await inventory.count(tx, stock)
  return bought
}

/** Why a number was released: by its owner's wish, or because its next month was not paid. */
type ReleaseReason = 'requested' | 'unpaid'

/** Releases a number at once: it rests before it is sold again. Null when the account has no such number. */
export const release = async (
  tx: Tx,
  changes: Changes,
  account: string,
  id: string,
  reason: ReleaseReason,
  restDays: number,
): Promise<owned.NumberRow | null> => {
  const found = await owned.lock(tx, account, id)
  if (!found) return null
  const released = await letGo(tx, account, id)
  const number = await inventory.lock(tx, found.number)
  if (number?.supplier_id) await endSupply(tx, account, found)
  else {
    const { rests_until } = await inventory.setResting(tx, found.number, restDays)
    await enqueue(tx, 'numbers.rested', { number: found.number }, { runAt: rests_until })
  }
  await tell(tx, 'number.released', released, reason)
  await changes.announce(tx, 'numbers')
  return released
}

/** A number in use that is called, whoever's it is; null for one that is not of this platform. */
export const calledNumber = (sql: Sql, number: string): Promise<owned.Called | null> => owned.called(sql, number)

/** A number of an account with its SMS channel, by either's id (also after its release) or by the number itself. */
export const lineOf = (
  sql: Sql,
  account: string,
  by: { did?: string; sms?: string; number?: string },
): Promise<owned.Line | null> => owned.line(sql, account, by)
