import type { Changes } from '../db/changes.ts'
import type { Tx } from '../db/sql.ts'
import { conflict, notFound, Problem } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import { charge } from '../ledger/ops.ts'
import { uuid } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import { formatted } from '../lib/phone.ts'
import { smsOf } from './features.ts'
import * as inventory from './inventory.ts'
import * as owned from './owned.ts'
import * as store from './store.ts'
import { tell } from './told.ts'

/** What an account asks to hold or buy. Without a number any free one; without a group, what it has reserved. */
export type Wish = { group: string | null; number: string | null }

/** The group by its id. @throws the 404 Problem */
export const groupOf = async (tx: Tx, id: string): Promise<store.PlacedGroup> =>
  (await store.group(tx, id)) ?? notFound(`There is no number group ${id}`)

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

/** Gives a reserved number back. @throws the 404 or 409 Problem */
export const cancel = async (tx: Tx, account: string, id: string): Promise<inventory.ReservationRow> => {
  const found = (await inventory.reservation(tx, account, id)) ?? notFound(`There is no reservation ${id}`)
  const number = await inventory.lock(tx, found.number)
  if ((await inventory.cancelReservation(tx, account, id)) === 0 || !number) {
    const now = await inventory.reservation(tx, account, id)
    const state = now && now.state !== 'active' ? now.state : 'expired'
    return conflict(`The reservation of ${found.number} is already ${state}`, `reservation_${state}`)
  }
  await inventory.setFree(tx, [found.number])
  await inventory.count(tx, new Map([[number.group_id, 1]]))
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

/** Plans what renewal.ts does at the end of a number's paid month. */
export const planRenewal = (tx: Tx, { account_id: account, id }: owned.NumberRow, runAt: Date) =>
  enqueue(tx, 'numbers.renew', { account, id }, { account, runAt })

/** Charges for one locked number and makes it the account's, with its SMS channel and its caller id. */
const buyOne = async (
  tx: Tx,
  account: string,
  { number }: inventory.Locked,
  group: store.PlacedGroup,
  name: string | null,
) => {
  const [setup, month] = [micros(group.setup_price) ?? 0, micros(group.monthly_price) ?? 0]
  const note = `${number} set-up ${decimal(setup)}, first month ${decimal(month)}`
  await charge(tx, account, setup + month, 'numbers', { kind: 'number_purchase', reference: number, note })
  const made = {
    account_id: account,
    id: uuid(),
    number,
    group_id: group.id,
    iso_country_code: group.iso_country_code,
    region_name: group.region_name ?? group.location,
    type: group.type,
    friendly_name: name ?? formatted(number),
    timezone: group.timezone,
    monthly_price: group.monthly_price,
    ppm: group.ppm,
    status_text: group.needs_registration ? ('AWAITING_REGISTRATION' as const) : ('ACTIVE' as const),
  }
  const row = await owned.add(tx, made)
  const sms = smsOf(group)
  if (sms.in || sms.out) await owned.addChannel(tx, made, uuid(), sms)
  await owned.addCallerId(tx, made, uuid())
  await inventory.setOwner(tx, number, 'owned', account)
  await inventory.useReservation(tx, account, number)
  await planRenewal(tx, row, row.expires_at)
  await tell(tx, 'number.purchased', row)
  return row
}

export type Bought = { numbers: owned.NumberRow[]; failed: string[] }

/**
 * Buys what the wish comes to. Each number is charged for and becomes the account's in the same transaction. Those that the
 * balance does not cover are left; when it covers none of them, that is the 402 Problem.
 * @throws the 402, 404 or 409 Problem
 */
export const buy = async (tx: Tx, account: string, wish: Wish, name: string | null): Promise<Bought> => {
  const chosen = await choose(tx, account, wish)
  const bought: Bought = { numbers: [], failed: [] }
  const stock = new Map<string, number>()
  let refusal: Problem | null = null
  for (const one of chosen) {
    const group = await groupOf(tx, one.group_id)
    try {
      bought.numbers.push(await buyOne(tx, account, one, group, name))
      if (one.state === 'free') stock.set(one.group_id, (stock.get(one.group_id) ?? 0) - 1)
    } catch (error) {
      // The charge comes first: nothing of this number has been changed.
      if (!(error instanceof Problem) || error.problem !== 'balance') throw error
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
  const released = await owned.release(tx, account, id)
  const { rests_until } = await inventory.setResting(tx, found.number, restDays)
  await enqueue(tx, 'numbers.rested', { number: found.number }, { runAt: rests_until })
  await tell(tx, 'number.released', released, reason)
  await changes.announce(tx, 'numbers')
  return released
}
