import type { Tx } from '../../../platform/db/sql.ts'
import { Discard, type JobKind, Retry, Snooze } from '../../../platform/jobs/job-kind.ts'
import { promoteJobs } from '../../../platform/jobs/ops.ts'
import { print } from '../../../platform/lib/id.ts'
import type { NumberSupplier, ServiceResult, SupplierDelivery } from '../../../ports/supplier.ts'
import type { Services } from '../../../services.ts'
import { hasConnection } from '../../connections/ops.ts'
import { resendAfterSeconds } from '../limits.ts'
import * as orders from './supplier-order-store.ts'
import { deliverOrder, failOrder, orderKind } from './supplier-orders.ts'

type OrderPayload = { account: string; id: string }
type OrderOutcome = { delivery: SupplierDelivery } | { refused: string } | null

/**
 * Returns the value, or snoozes the job without counting an attempt, however long the supplier is away. A refused query
 * is not a refused order.
 */
const valueOrSnooze = <T>(result: ServiceResult<T>): T => {
  if (result.outcome === 'done') return result.value
  throw new Snooze(result.reason, result.outcome === 'later' ? result.seconds : 30)
}

const itemOf = (item: orders.Item) => {
  if ('reservation' in item && item.reservation !== undefined) return { reservation: item.reservation }
  if ('number' in item && item.number !== undefined) return { number: item.number }
  return 'any' as const
}

/**
 * Drives orders at suppliers: `wanted` → `sending` → `ordered` → `completed` or `failed`. Each step is persisted before
 * the next. After a crash the next run asks the supplier about the last step, so an order is placed once, whatever
 * answers are lost.
 */
export const orderJob = (parts: Services): JobKind<OrderPayload, OrderOutcome> => {
  const { db, suppliers, changes, publicUrl } = parts
  /** Sends the order. Returns the supplier's id, or the reason of its refusal. */
  const send = async (
    row: orders.OrderRow,
    supplier: NumberSupplier,
  ): Promise<{ external: string } | { refused: string }> => {
    const { account_id: account, id } = row
    await orders.markSending(db, account, id)
    const callback = `${publicUrl()}/callbacks/didww/${print('CNX', row.connection_id)}`
    const result = await supplier.order({ reference: id, sku: row.sku, item: itemOf(row.item), callback })
    if (result.outcome === 'done') return { external: result.value.id }
    if (result.outcome === 'refused') return { refused: result.reason }
    if (result.outcome === 'unknown') throw new Retry(result.reason, 1)
    await orders.markUnsent(db, account, id)
    throw new Snooze(result.reason, result.seconds)
  }

  /** Recovers an order whose answer was lost. Returns the supplier's id, or null if the order surely never arrived. */
  const recoverOrder = async (row: orders.TimedOrder, supplier: NumberSupplier): Promise<string | null> => {
    const found = valueOrSnooze(await supplier.findOrder(row.id))
    if (found) return found.id
    const silence = row.silence ?? resendAfterSeconds
    if (silence < resendAfterSeconds)
      throw new Retry('it is not known yet whether the order arrived', resendAfterSeconds - silence)
    return null
  }

  const run = async ({
    payload: { account, id },
    attempt,
  }: {
    payload: OrderPayload
    attempt: number
  }): Promise<OrderOutcome> => {
    const row = await orders.find(db, account, id)
    if (!row || row.state === 'completed' || row.state === 'failed') return null
    const found = await suppliers.of(row.connection_id)
    if (!found) {
      // A connection with open orders is not deleted. One that was deleted at that moment counts as a refusal.
      if (!(await hasConnection(db, row.connection_id))) return { refused: 'the supplier is not connected any more' }
      throw new Snooze('the connection of the supplier is not enabled', 60)
    }
    const { supplier } = found
    let external = row.external_id ?? (row.state === 'sending' ? await recoverOrder(row, supplier) : null)
    if (external === null) {
      const sent = await send(row, supplier)
      if ('refused' in sent) return sent
      external = sent.external
    }
    if (row.external_id === null) await orders.markOrdered(db, account, id, external)
    const { state } = valueOrSnooze(await supplier.orderState(external))
    if (state === 'canceled') return { refused: 'the supplier canceled the order' }
    // A callback may shorten this wait; no callback is guaranteed.
    const seconds = Math.min(300, 0.25 * 2 ** Math.min(attempt, 20))
    if (state === 'pending') throw new Retry('the order is pending', seconds)
    const [delivery] = valueOrSnooze(await supplier.deliveredNumbers(external))
    if (!delivery) throw new Retry('the order is completed, but its number is not available yet', seconds)
    return { delivery }
  }

  const complete = async (tx: Tx, { account, id }: OrderPayload, outcome: OrderOutcome) => {
    const row = outcome && (await orders.lock(tx, account, id))
    if (!row || row.state === 'completed' || row.state === 'failed') return
    if ('refused' in outcome) await failOrder(tx, changes, row, outcome.refused, null)
    else await deliverOrder(tx, parts, row, outcome.delivery)
  }

  return {
    kind: orderKind,
    concurrency: 32,
    batch: 16,
    leaseSeconds: 30,
    // A month at five minutes each: a pending order may take long.
    maxAttempts: 10_000,
    fair: true,
    run,
    // The held money is released. The job stays among the dead letters for the operator.
    onDiscard: (tx, { payload }) => complete(tx, payload, { refused: 'the supplier did not deliver' }),
    onComplete: async (tx, done) => {
      // Balances are locked in the order of accounts (docs/locks.md).
      const sorted = done.toSorted((a, b) => (a.job.payload.account < b.job.payload.account ? -1 : 1))
      for (const { job, result } of sorted) await complete(tx, job.payload, result)
    },
  }
}

/** Queries an order at once after its supplier's callback. Returns false for an unknown order. */
export const promoteOrder = async ({ db }: Services, connection: string, external: string): Promise<boolean> => {
  const row = await orders.findByExternalId(db, connection, external)
  if (!row) return false
  await db.begin((tx) => promoteJobs(tx, orderKind, { id: row.job_id }))
  return true
}

/** Ends the renewal of released numbers at their supplier. */
export const endJob = ({ db, suppliers }: Services): JobKind<OrderPayload, void> => ({
  kind: 'numbers.end',
  concurrency: 8,
  leaseSeconds: 30,
  maxAttempts: 10_000,
  fair: true,
  backoff: (attempt) => Math.min(600, 5 * 2 ** Math.min(attempt, 20)),
  run: async ({ payload: { account, id } }) => {
    const row = await orders.find(db, account, id)
    if (!row || (row.state === 'failed' && row.delivery_id === null)) return
    if (row.delivery_id === null) throw new Snooze('its order has not ended', 60)
    const found = await suppliers.of(row.connection_id)
    if (!found && !(await hasConnection(db, row.connection_id)))
      throw new Discard(`the supplier is not connected any more: end its number ${row.delivery_id} there by hand`)
    if (!found) throw new Snooze('the connection of the supplier is not enabled', 600)
    const result = await found.supplier.stopRenewal(row.delivery_id)
    if (result.outcome === 'later') throw new Snooze(result.reason, result.seconds)
    if (result.outcome !== 'done') throw new Retry(result.reason, 60)
  },
})

/** Cancels a reservation at its supplier that has ended here; the supplier's own hold would end later. */
export const unreserveJob = ({ suppliers }: Services): JobKind<{ connection: string; reservation: string }, void> => ({
  kind: 'numbers.unreserve',
  concurrency: 8,
  leaseSeconds: 30,
  // The supplier's hold expires by itself ten minutes later.
  maxAttempts: 5,
  run: async ({ payload: { connection, reservation } }) => {
    const result = await (await suppliers.of(connection))?.supplier.cancelReservation(reservation)
    if (result && (result.outcome === 'later' || result.outcome === 'unknown')) throw new Retry(result.reason, 5)
  },
})
