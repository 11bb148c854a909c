import { formatNumber } from '@trunkline/phone/phone.ts'
import type { Config } from '../../../config.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { decimal, type Micros, micros } from '../../../platform/lib/money.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { SupplierDelivery } from '../../../ports/supplier.ts'
import { assertOpen } from '../../accounts/ops.ts'
import { capture, hold, type LimitedKeys, release } from '../../ledger/ops.ts'
import { publishNumberEvent } from '../lifecycle/number-events.ts'
import { assignToAccount, completeProvisioning, releaseFromAccount } from '../lifecycle/provisioning.ts'
import { changePriorStatus, disableChannel } from '../lifecycle/suspension.ts'
import * as virtualNumbers from '../lifecycle/virtual-number-store.ts'
import * as inventory from '../purchase/inventory-store.ts'
import { refusals } from '../refusals.ts'
import { registerWithAnswers, stateOf } from '../registration/registration.ts'
import type { AnswerRow } from '../registration/store.ts'
import * as store from '../store.ts'
import * as offers from './supplier-offer-store.ts'
import * as orders from './supplier-order-store.ts'

export const orderKind = 'numbers.order'

/** Builds the virtual number that the account will own. */
export const numberForAccount = (
  account: string,
  number: string,
  group: store.PlacedGroup,
  { name, rings }: { readonly name: string | null; readonly rings: string | null },
  status: virtualNumbers.StatusText,
): virtualNumbers.NewNumber => ({
  account_id: account,
  id: uuid(),
  number,
  group_id: group.id,
  iso_country_code: group.iso_country_code,
  region_name: group.region_name ?? group.location,
  type: group.type,
  friendly_name: name ?? formatNumber(number),
  timezone: group.timezone,
  inbound_user_id: rings,
  monthly_price: group.monthly_price,
  ppm: group.ppm,
  status_text: status,
})

/** Returns the price of a number of the group: set-up and first month. */
export const purchasePriceOf = (group: store.GroupRow): Micros =>
  (micros(group.setup_price) ?? 0) + (micros(group.monthly_price) ?? 0)

export type RequestKey = { readonly key: string; readonly digest: Buffer }

type PlacedOrder = { order: orders.OrderRow; number: virtualNumbers.NumberRow | null }

/**
 * Orders a number of a supplier's group: holds the money, stores the order and enqueues its job, in one transaction. A
 * number that is known already belongs to the account from now on, PENDING_ACTIVATION; an unknown one arrives with the
 * delivery.
 * @param request the Idempotency-Key of the request, if the transaction does not store its response
 * @param answers registration answers for a number that arrives with the delivery
 * @throws the 402 Problem, or the 404 one for a group that is no longer offered
 */
export const placeOrder = async (
  tx: Tx,
  account: string,
  group: store.PlacedGroup,
  details: {
    number: string | null
    item: orders.Item
    name: string | null
    /** The user whom the number rings, without prefix. */
    rings: string | null
    /** The key or person that orders, without prefix. */
    by: string | null
    limitedKeys: LimitedKeys
    request?: RequestKey | null
    answers?: readonly AnswerRow[]
  },
): Promise<PlacedOrder> => {
  await assertOpen(tx, account)
  const from = (await offers.supplierGroup(tx, group.id)) ?? refuse(refusals.unknownGroup(group.id))
  const amount = purchasePriceOf(group)
  const { number, item, name, rings, by, limitedKeys, request = null, answers = [] } = details
  const reference = number ?? group.id
  const held = await hold(tx, account, amount, 'numbers', { kind: 'number_purchase', reference, by, limitedKeys })
  const row = number
    ? await assignToAccount(tx, numberForAccount(account, number, group, { name, rings }, 'PENDING_ACTIVATION'))
    : null
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
    inbound_user_id: rings,
    hold_id: held,
    amount: decimal(amount),
    request_key: request?.key ?? null,
    request_digest: request?.digest ?? null,
    answers: orders.serializeAnswers(answers),
    job_id: await enqueue(tx, orderKind, { account, id }, { account }),
  })
  return { order, number: row }
}

const requestEnd = (tx: Tx, { account_id: account, id }: orders.OrderRow) =>
  enqueue(tx, 'numbers.end', { account, id }, { account })

/**
 * Fails the order: the held money is released in the same transaction.
 * @param delivery the supplier's id of a delivered number that cannot be used
 */
export const failOrder = async (
  tx: Tx,
  changes: InvalidationBus,
  row: orders.OrderRow,
  reason: string,
  delivery: string | null,
): Promise<void> => {
  const { account_id: account, virtual_number_id: id } = row
  await release(tx, account, row.hold_id)
  await orders.fail(tx, account, row.id, reason, delivery)
  // A number released meanwhile has already left, and may belong to another account.
  if (id && (await virtualNumbers.lock(tx, account, id))) {
    const released = await releaseFromAccount(tx, account, id)
    await inventory.removeSupplied(tx, account, released.number)
    await publishNumberEvent(tx, 'number.released', released, 'not_delivered')
  }
  if (delivery) await requestEnd(tx, row)
  await changes.invalidate(tx, 'numbers')
}

type ActivationDeps = { readonly seal: Seal; readonly config: Config; readonly changes: InvalidationBus }

/**
 * Activates an ordered number. Its registration, opened if either side requires one, decides its status; a suspended
 * number stays suspended.
 */
const activateNumber = async (
  tx: Tx,
  parts: ActivationDeps,
  number: virtualNumbers.NumberRow,
  group: store.PlacedGroup,
  awaitsRegistration: boolean,
): Promise<void> => {
  const { account_id: account, id } = number
  const state = await stateOf(tx, account, id)
  if (awaitsRegistration && state === null) await registerWithAnswers(tx, parts, number, [])
  const isOpen = state === null ? awaitsRegistration : state !== 'approved'
  const status = isOpen ? ('AWAITING_REGISTRATION' as const) : ('ACTIVE' as const)
  const isSuspended = number.status_text === 'SUSPENDED'
  await completeProvisioning(
    tx,
    await virtualNumbers.activate(tx, account, id, isSuspended ? 'SUSPENDED' : status),
    group,
  )
  if (!isSuspended) return
  await changePriorStatus(tx, account, id, 'PENDING_ACTIVATION', status)
  await disableChannel(tx, account, id)
}

/** Delivers the number: captures the money and activates the number, in one transaction. */
export const deliverOrder = async (
  tx: Tx,
  parts: ActivationDeps,
  row: orders.OrderRow,
  { id: delivery, number, awaitsRegistration }: SupplierDelivery,
): Promise<void> => {
  const { account_id: account } = row
  const { changes } = parts
  const group = await store.group(tx, row.group_id, 'all')
  if (!group) throw new Error(`the group ${row.group_id} of an order is gone`)
  if (row.number !== null && row.number !== number)
    return failOrder(tx, changes, row, `the supplier delivered ${number} instead`, delivery)
  if (row.virtual_number_id === null) {
    if (!(await inventory.addSupplied(tx, number, group.id, row.connection_id, account, 'owned')))
      return failOrder(tx, changes, row, `${number} already exists here`, delivery)
    const labels = { name: row.friendly_name, rings: row.inbound_user_id }
    const assigned = await assignToAccount(tx, numberForAccount(account, number, group, labels, 'PENDING_ACTIVATION'))
    await orders.complete(tx, account, row.id, { number, delivery, virtualNumber: assigned.id })
    if (group.needs_registration) await registerWithAnswers(tx, parts, assigned, orders.parseAnswers(row))
    await activateNumber(tx, parts, assigned, group, awaitsRegistration)
  } else {
    await orders.complete(tx, account, row.id, { number, delivery, virtualNumber: row.virtual_number_id })
    const ordered = await virtualNumbers.lock(tx, account, row.virtual_number_id)
    if (ordered) await activateNumber(tx, parts, ordered, group, awaitsRegistration)
    // The number was released before its delivery: no refund, as for every released number.
    else await requestEnd(tx, row)
  }
  await capture(tx, account, row.hold_id, micros(row.amount) ?? 0)
  await changes.invalidate(tx, 'numbers')
}

/** Orders a number that the account holds at a supplier. @throws the 402 or 404 Problem */
export const orderHeldNumber = async (
  tx: Tx,
  account: string,
  number: string,
  group: store.PlacedGroup,
  labels: { name: string | null; rings: string | null; by: string | null; limitedKeys: LimitedKeys },
): Promise<virtualNumbers.NumberRow> => {
  const supplierHold = await inventory.supplierHoldOf(tx, account, number)
  const item = supplierHold?.supplier_reservation
    ? { reservation: supplierHold.supplier_reservation }
    : { number: supplierHold?.supplier_number ?? '' }
  const { number: row } = await placeOrder(tx, account, group, { number, item, ...labels })
  if (!row) throw new Error(`${number} was ordered as if it were not known`)
  await inventory.setOwner(tx, number, 'owned', account)
  await inventory.useReservation(tx, account, number)
  return row
}

/** Removes a number that the account only held, and cancels the supplier's own hold, which would end later. */
export const cancelSupplierHold = async (tx: Tx, account: string, number: string): Promise<void> => {
  const supplierHold = await inventory.lastSupplierHold(tx, number)
  if (supplierHold?.supplier_id && supplierHold.supplier_reservation)
    await enqueue(tx, 'numbers.unreserve', {
      connection: supplierHold.supplier_id,
      reservation: supplierHold.supplier_reservation,
    })
  await inventory.removeSupplied(tx, account, number)
}

/** Removes a released supplier number and ends its renewal at the supplier. */
export const endSupply = async (tx: Tx, account: string, { id, number }: virtualNumbers.NumberRow): Promise<void> => {
  await inventory.removeSupplied(tx, account, number)
  const row = await orders.findByNumber(tx, account, id)
  if (row) await requestEnd(tx, row)
}
