import type { SupplierDelivery } from '../connectors/port.ts'
import type { Changes } from '../db/changes.ts'
import type { Tx } from '../db/sql.ts'
import { notFound } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import { capture, hold, release } from '../ledger/ops.ts'
import { uuid } from '../lib/id.ts'
import { decimal, type Micros, micros } from '../lib/money.ts'
import { formatted } from '../lib/phone.ts'
import type { Parts } from '../parts.ts'
import { handOver, letGo, take } from './handover.ts'
import * as inventory from './inventory.ts'
import * as offers from './offers.ts'
import * as orders from './orders.ts'
import * as owned from './owned.ts'
import { registerWith, stateOf } from './registration.ts'
import type { AnswerRow } from './registrations.ts'
import * as store from './store.ts'
import { retarget, silence } from './suspension.ts'
import { tell } from './told.ts'

export const orderKind = 'numbers.order'

/** What a number of the group is to be for the account. */
export const newNumber = (
  account: string,
  number: string,
  group: store.PlacedGroup,
  name: string | null,
  status: owned.StatusText,
): owned.NewNumber => ({
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
  status_text: status,
})

/** Of a number of the group: set-up and first month. */
export const priceOf = (group: store.GroupRow): Micros =>
  (micros(group.setup_price) ?? 0) + (micros(group.monthly_price) ?? 0)

export type RequestKey = { readonly key: string; readonly digest: Buffer }

type Ordered = { order: orders.OrderRow; number: owned.NumberRow | null }

/**
 * Orders a number of a supplier's group: the money is set aside, the order written down, and the job that drives it asked for,
 * in one transaction. A number that is known already is the account's from here on, PENDING_ACTIVATION; any other comes
 * with the delivery.
 * @param request the Idempotency-Key of the request, where the transaction does not keep its answer
 * @param answers what was given for the registration of a number that comes with the delivery
 * @throws the 402 Problem, or the 404 one for a group that is not offered any more
 */
export const place = async (
  tx: Tx,
  account: string,
  group: store.PlacedGroup,
  wanted: {
    number: string | null
    item: orders.Item
    name: string | null
    request?: RequestKey | null
    answers?: readonly AnswerRow[]
  },
): Promise<Ordered> => {
  const from = (await offers.supplied(tx, group.id)) ?? notFound(`There is no number group ${group.id}`)
  const amount = priceOf(group)
  const { number, item, name, request = null, answers = [] } = wanted
  const reference = number ?? group.id
  const held = await hold(tx, account, amount, 'numbers', { kind: 'number_purchase', reference })
  const row = number ? await take(tx, newNumber(account, number, group, name, 'PENDING_ACTIVATION')) : null
  const id = uuid()
  const order = await orders.add(tx, {
    account_id: account,
    id,
    connection_id: from.connection_id,
    group_id: group.id,
    sku: from.sku,
    item,
    number,
    virtual_number_id: row?.id ?? null,
    friendly_name: name,
    hold_id: held,
    amount: decimal(amount),
    request_key: request?.key ?? null,
    request_digest: request?.digest ?? null,
    answers: orders.keepAnswers(answers),
    job_id: await enqueue(tx, orderKind, { account, id }, { account }),
  })
  return { order, number: row }
}

const askForEnd = (tx: Tx, { account_id: account, id }: orders.OrderRow) =>
  enqueue(tx, 'numbers.end', { account, id }, { account })

/** The order ends without a number: what was set aside goes back in the same transaction.
 *  @param delivery the supplier's id of a number that came and is of no use */
export const refuse = async (
  tx: Tx,
  changes: Changes,
  row: orders.OrderRow,
  reason: string,
  delivery: string | null,
): Promise<void> => {
  const { account_id: account, virtual_number_id: id } = row
  await release(tx, account, row.hold_id)
  await orders.fail(tx, account, row.id, reason, delivery)
  // One that was released meanwhile has left already, and may be somebody's again.
  if (id && (await owned.lock(tx, account, id))) {
    const released = await letGo(tx, account, id)
    await inventory.leave(tx, account, released.number)
    await tell(tx, 'number.released', released, 'not_delivered')
  }
  if (delivery) await askForEnd(tx, row)
  await changes.announce(tx, 'numbers')
}

/** A number that was ordered can be used from now on. Its registration, which is opened where either side asks for one, says
 *  in what state; one that was suspended meanwhile stays so. */
const begin = async (
  tx: Tx,
  parts: Pick<Parts, 'seal' | 'config' | 'changes'>,
  number: owned.NumberRow,
  group: store.PlacedGroup,
  awaitsRegistration: boolean,
): Promise<void> => {
  const { account_id: account, id } = number
  const state = await stateOf(tx, account, id)
  if (awaitsRegistration && state === null) await registerWith(tx, parts, number, [])
  const isOpen = state === null ? awaitsRegistration : state !== 'approved'
  const status = isOpen ? ('AWAITING_REGISTRATION' as const) : ('ACTIVE' as const)
  const isSuspended = number.status_text === 'SUSPENDED'
  await handOver(tx, await owned.activate(tx, account, id, isSuspended ? 'SUSPENDED' : status), group)
  if (!isSuspended) return
  await retarget(tx, account, id, 'PENDING_ACTIVATION', status)
  await silence(tx, account, id)
}

/** The number is there: it is paid for, and becomes the account's, in one transaction. */
export const deliver = async (
  tx: Tx,
  parts: Pick<Parts, 'changes' | 'seal' | 'config'>,
  row: orders.OrderRow,
  { id: delivery, number, awaitsRegistration }: SupplierDelivery,
): Promise<void> => {
  const { account_id: account } = row
  const { changes } = parts
  const group = await store.group(tx, row.group_id, true)
  if (!group) throw new Error(`the group ${row.group_id} of an order is gone`)
  if (row.number !== null && row.number !== number)
    return refuse(tx, changes, row, `the supplier delivered ${number} instead`, delivery)
  if (row.virtual_number_id === null) {
    if (!(await inventory.addSupplied(tx, number, group.id, row.connection_id, account, 'owned')))
      return refuse(tx, changes, row, `${number} is here already`, delivery)
    const made = await take(tx, newNumber(account, number, group, row.friendly_name, 'PENDING_ACTIVATION'))
    await orders.complete(tx, account, row.id, { number, delivery, virtualNumber: made.id })
    if (group.needs_registration) await registerWith(tx, parts, made, orders.keptAnswers(row))
    await begin(tx, parts, made, group, awaitsRegistration)
  } else {
    await orders.complete(tx, account, row.id, { number, delivery, virtualNumber: row.virtual_number_id })
    const ordered = await owned.lock(tx, account, row.virtual_number_id)
    if (ordered) await begin(tx, parts, ordered, group, awaitsRegistration)
    // It was released before it came, without refund as every released number.
    else await askForEnd(tx, row)
  }
  await capture(tx, account, row.hold_id, micros(row.amount) ?? 0)
  await changes.announce(tx, 'numbers')
}

/** Orders a number that the account holds at a supplier. @throws the 402 or 404 Problem */
export const orderHeld = async (
  tx: Tx,
  account: string,
  number: string,
  group: store.PlacedGroup,
  name: string | null,
): Promise<owned.NumberRow> => {
  const there = await inventory.heldThere(tx, account, number)
  const item = there?.supplier_reservation
    ? { reservation: there.supplier_reservation }
    : { number: there?.supplier_number ?? '' }
  const { number: row } = await place(tx, account, group, { number, item, name })
  if (!row) throw new Error(`${number} was ordered as if it were not known`)
  await inventory.setOwner(tx, number, 'owned', account)
  await inventory.useReservation(tx, account, number)
  return row
}

/** A number that the account only held leaves; its supplier is told, whose own hold would end later. */
export const returnToSupplier = async (tx: Tx, account: string, number: string): Promise<void> => {
  const there = await inventory.lastHold(tx, number)
  if (there?.supplier_id && there.supplier_reservation)
    await enqueue(tx, 'numbers.unreserve', {
      connection: there.supplier_id,
      reservation: there.supplier_reservation,
    })
  await inventory.leave(tx, account, number)
}

/** A number that came from a supplier was released: it is not renewed there either. */
export const endSupply = async (tx: Tx, account: string, { id, number }: owned.NumberRow): Promise<void> => {
  await inventory.leave(tx, account, number)
  const row = await orders.ofNumber(tx, account, id)
  if (row) await askForEnd(tx, row)
}
