import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import { Problem, refuse } from '../../platform/http/problem.ts'
import { promoteJobs } from '../../platform/jobs/ops.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { uuid } from '../../platform/lib/id.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import { assertOpen } from '../accounts/ops.ts'
import { charge, type LimitedKeys } from '../ledger/ops.ts'
import { isPossessedElsewhere } from '../possession/ops.ts'
import { publishNumberEvent } from './lifecycle/number-events.ts'
import { presentNumber } from './lifecycle/number-presenter.ts'
import { assignToAccount, completeProvisioning, releaseFromAccount } from './lifecycle/provisioning.ts'
import * as virtualNumbers from './lifecycle/virtual-number-store.ts'
import * as inventory from './purchase/inventory-store.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import * as orders from './suppliers/supplier-order-store.ts'
import { cancelSupplierHold, endSupply, numberForAccount, orderHeldNumber } from './suppliers/supplier-orders.ts'

/** Requests a catalogue sync after a supplier's connection was created, changed or deleted. */
export const requestSync = async (tx: Tx, connection: string): Promise<void> => {
  // A sync that waits for its next attempt is run now instead of delaying this one.
  if ((await promoteJobs(tx, 'numbers.sync', { key: connection })) > 0) return
  await enqueue(tx, 'numbers.sync', { connection }, { key: connection })
}

/** Counts a supplier's open orders. */
export const openOrders = (tx: Tx, connection: string): Promise<number> => orders.countOpenOrders(tx, connection)

/** A request to hold or buy. Without a number: any free one. Without a group: the reserved numbers of the account. */
export type PurchaseRequest = { group: string | null; number: string | null; offered: store.OfferScope }

/** Returns which groups are offered to an account. */
export const offeredTo = (
  { sandboxAccounts }: { sandboxAccounts: { has(account: string): boolean } },
  account: string,
): store.OfferScope => (sandboxAccounts.has(account) ? 'sandbox' : 'real')

/** Returns the group by its id. @throws the 404 Problem */
export const groupOf = async (sql: Sql, id: string, offered: store.OfferScope | 'all'): Promise<store.PlacedGroup> =>
  (await store.group(sql, id, offered)) ?? refuse(refusals.unknownGroup(id))

/** True for a free number, and for an own one whose reservation has ended: the job that frees it may be late. */
const isAvailable = async (tx: Tx, { number, state, supplier_id }: inventory.LockedNumber): Promise<boolean> =>
  state === 'free' || (state === 'held' && supplier_id === null && (await inventory.endDueReservation(tx, number)))

/** Returns the number, locked, if it is available; else null. */
const availableNumber = async (tx: Tx, number: string, group: string): Promise<inventory.LockedNumber | null> => {
  const found = await inventory.lock(tx, number)
  return found?.group_id === group && (await isAvailable(tx, found)) ? found : null
}

/** Returns any available number of the group, locked; null when there is none. */
const anyAvailable = async (tx: Tx, group: string): Promise<inventory.LockedNumber | null> => {
  const free = await inventory.lockFree(tx, group)
  if (free) return free
  const due = await inventory.lockDue(tx, group)
  return due && (await isAvailable(tx, due)) ? due : null
}

/** Reserves a number for the account and schedules the expiry. @throws the 404 or 409 Problem */
export const reserve = async (
  tx: Tx,
  account: string,
  { group: groupId, number, offered }: PurchaseRequest & { group: string },
  minutes: number,
): Promise<inventory.ReservationRow> => {
  await assertOpen(tx, account)
  const group = await groupOf(tx, groupId, offered)
  const found = number ? await availableNumber(tx, number, group.id) : await anyAvailable(tx, group.id)
  if (!found)
    return number ? refuse(refusals.numberUnavailable(number)) : refuse(refusals.groupSoldOut(group.id, group.location))
  await inventory.setOwner(tx, found.number, 'held', account)
  const reservation = await inventory.addReservation(tx, account, uuid(), found, minutes)
  const payload = { account, id: reservation.id, number: reservation.number }
  await enqueue(tx, 'numbers.expire', payload, { account, runAt: reservation.expires_at })
  if (found.state === 'free') await inventory.adjustFreeCounts(tx, new Map([[found.group_id, -1]]))
  return reservation
}

/** Returns unheld numbers: our own become free again, a supplier's go back to the supplier. */
export const returnNumbers = async (tx: Tx, numbers: readonly inventory.LockedNumber[]): Promise<void> => {
  const stock = new Map<string, number>()
  const ours = numbers.filter(({ supplier_id }) => supplier_id === null)
  for (const { number, supplier_id, account_id: account } of numbers)
    if (supplier_id !== null && account !== null) await cancelSupplierHold(tx, account, number)
  if (ours.length === 0) return
  await inventory.setFree(
    tx,
    ours.map(({ number }) => number),
  )
  for (const { group_id } of ours) stock.set(group_id, (stock.get(group_id) ?? 0) + 1)
  await inventory.adjustFreeCounts(tx, stock)
}

/** Cancels a reservation. @throws the 404 or 409 Problem */
export const cancel = async (tx: Tx, account: string, id: string): Promise<inventory.ReservationRow> => {
  const found = (await inventory.findReservation(tx, account, id)) ?? refuse(refusals.unknownReservation(id))
  const number = await inventory.lock(tx, found.number)
  if ((await inventory.cancelReservation(tx, account, id)) === 0 || !number) {
    const now = await inventory.findReservation(tx, account, id)
    const state = now && now.state !== 'active' ? now.state : 'expired'
    throw refusals.reservationEnded(found.number, state)
  }
  await returnNumbers(tx, [number])
  return found
}

/** Returns the requested numbers, locked, and those that are unavailable. */
const selectNumbers = async (
  tx: Tx,
  account: string,
  { group: groupId, number, offered }: PurchaseRequest,
): Promise<inventory.LockedNumber[]> => {
  const group = groupId === null ? null : await groupOf(tx, groupId, offered)
  if (number !== null) {
    const found = await inventory.lock(tx, number)
    const isOurs =
      found?.state === 'held' && found.account_id === account && (await inventory.isReserved(tx, account, number))
    const isSuitable =
      found && (group === null || found.group_id === group.id) && (isOurs || (await isAvailable(tx, found)))
    return isSuitable ? [found] : refuse(refusals.numberUnavailable(number))
  }
  const reserved = await inventory.lockReserved(tx, account, group?.id ?? null)
  if (group === null) return reserved.length > 0 ? reserved : refuse(refusals.nothingReserved())
  const one = reserved[0] ?? (await anyAvailable(tx, group.id))
  return one ? [one] : refuse(refusals.groupSoldOut(group.id, group.location))
}

/** The friendly name of bought numbers, the user whom they ring, and the key or person that bought them, without prefix. */
type PurchaseLabels = {
  readonly name: string | null
  readonly rings: string | null
  readonly by: string | null
  readonly limitedKeys: LimitedKeys
}

/** Sells one locked number to the account: an own number is charged and ready at once, a supplier's is ordered. */
const buyOne = async (
  tx: Tx,
  account: string,
  { number, supplier_id }: inventory.LockedNumber,
  group: store.PlacedGroup,
  labels: PurchaseLabels,
) => {
  const { name, rings, by, limitedKeys } = labels
  if (supplier_id !== null) return orderHeldNumber(tx, account, number, group, labels)
  const [setup, month] = [micros(group.setup_price) ?? 0, micros(group.monthly_price) ?? 0]
  const note = `${number} set-up ${decimal(setup)}, first month ${decimal(month)}`
  const what = { kind: 'number_purchase', reference: number, note, by, limitedKeys } as const
  await charge(tx, account, setup + month, 'numbers', what)
  const status = group.needs_registration ? ('AWAITING_REGISTRATION' as const) : ('ACTIVE' as const)
  const row = await assignToAccount(tx, numberForAccount(account, number, group, { name, rings }, status))
  await inventory.setOwner(tx, number, 'owned', account)
  await inventory.useReservation(tx, account, number)
  await completeProvisioning(tx, row, group)
  return row
}

/**
 * The sandbox sells only to sandbox accounts, and no number that another account uses outside the sandbox.
 * @throws the 409 Problem
 */
const requireSellable = async (
  tx: Tx,
  account: string,
  number: string,
  { supplier }: store.PlacedGroup,
  offered: store.OfferScope,
): Promise<void> => {
  if (supplier !== 'sandbox') return
  if (offered !== 'sandbox' || (await isPossessedElsewhere(tx, account, number)))
    throw refusals.numberUnavailable(number)
}

export type PurchaseResult = {
  numbers: virtualNumbers.NumberRow[]
  failed: string[]
  /** Bought numbers whose regulator has requirements. */
  unregistered: virtualNumbers.NumberRow[]
}

/**
 * Buys the requested numbers. Each number is charged and assigned in the same transaction. Refused numbers are skipped:
 * the balance does not cover them, or the supplier no longer sells them. If all are refused, the last refusal is
 * thrown.
 * @throws the 402, 404 or 409 Problem
 */
export const buy = async (
  tx: Tx,
  account: string,
  request: PurchaseRequest,
  labels: PurchaseLabels,
): Promise<PurchaseResult> => {
  await assertOpen(tx, account)
  const chosen = await selectNumbers(tx, account, request)
  const bought: PurchaseResult = { numbers: [], failed: [], unregistered: [] }
  const stock = new Map<string, number>()
  let refusal: Problem | null = null
  for (const one of chosen) {
    try {
      // A held number stays for sale when its group is no longer offered.
      const group = await groupOf(tx, one.group_id, one.state === 'held' ? 'all' : 'sandbox')
      await requireSellable(tx, account, one.number, group, request.offered)
      const row = await buyOne(tx, account, one, group, labels)
      bought.numbers.push(row)
      if (group.needs_registration) bought.unregistered.push(row)
      if (one.state === 'free') stock.set(one.group_id, (stock.get(one.group_id) ?? 0) - 1)
    } catch (error) {
      // A refusal comes before the charge or is the charge's own: nothing of this number has changed.
      if (!(error instanceof Problem)) throw error
      refusal = error
      bought.failed.push(one.number)
    }
  }
  if (refusal && bought.numbers.length === 0) throw refusal
  await inventory.adjustFreeCounts(tx, stock)
  return bought
}

/** Why a number was released: on request, or because its next month was not paid. */
type ReleaseReason = 'requested' | 'unpaid'

/** Releases a number at once into quarantine. Null when the account has no such number. */
export const release = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  id: string,
  reason: ReleaseReason,
  restDays: number,
): Promise<virtualNumbers.NumberRow | null> => {
  const found = await virtualNumbers.lock(tx, account, id)
  if (!found) return null
  const released = await releaseFromAccount(tx, account, id)
  const number = await inventory.lock(tx, found.number)
  if (number?.supplier_id) await endSupply(tx, account, found)
  else {
    const { rests_until } = await inventory.startQuarantine(tx, found.number, restDays)
    await enqueue(tx, 'numbers.rested', { number: found.number }, { runAt: rests_until })
  }
  await publishNumberEvent(tx, 'number.released', released, reason)
  await changes.invalidate(tx, 'numbers')
  return released
}

/** Returns an active number of any account; null for a number that is not of this platform. */
export const calledNumber = (sql: Sql, number: string): Promise<virtualNumbers.CalledNumber | null> =>
  virtualNumbers.findCalled(sql, number)

/** Returns an account's number with its SMS channel, by either id (also after its release) or by the number itself. */
export const numberWithChannel = (
  sql: Sql,
  account: string,
  by: { did?: string; sms?: string; number?: string },
): Promise<virtualNumbers.NumberWithChannel | null> => virtualNumbers.findWithChannel(sql, account, by)

/** Releases everything of an account: its reservations, and its numbers, into quarantine. @returns how many of each */
export const releaseAll = async (tx: Tx, changes: InvalidationBus, account: string, restDays: number) => {
  const reserved = await inventory.activeReservations(tx, account)
  for (const { id } of reserved) await cancel(tx, account, id)
  const numbers = await virtualNumbers.idsOf(tx, account)
  for (const { id } of numbers) await release(tx, changes, account, id, 'requested', restDays)
  return { reservations: reserved.length, numbers: numbers.length }
}

/** Returns the newest number of an account as events present it; null for none. */
export const newestNumber = async (sql: Sql, account: string) => {
  const row = await virtualNumbers.newest(sql, account)
  return row && presentNumber(row)
}
