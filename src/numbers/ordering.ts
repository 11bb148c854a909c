import { hasConnection } from '../connections/ops.ts'
import type { Asked, NumberSupplier, SupplierDelivery } from '../connectors/port.ts'
import type { Tx } from '../db/sql.ts'
import { GiveUp, type Kind, Later, Retry } from '../jobs/kind.ts'
import { hasten } from '../jobs/ops.ts'
import { print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as orders from './orders.ts'
import { deliver, orderKind, refuse } from './supply.ts'

/** An order that was sent without an answer is not sent again before the first one has surely come or been lost: the
 *  connection, the longest wait for an answer and the supplier's own work together are far below this. */
const silenceSeconds = 60

type Payload = { account: string; id: string }
type Outcome = { delivery: SupplierDelivery } | { refused: string } | null

/** The value, or else the job comes again, however long the supplier is away: nothing was tried. A refusal to tell is no refusal of
 *  the order. */
const told = <T>(asked: Asked<T>): T => {
  if (asked.outcome === 'done') return asked.value
  throw new Later(asked.reason, asked.outcome === 'later' ? asked.seconds : 30)
}

const itemOf = (item: orders.Item) => {
  if ('reservation' in item && item.reservation !== undefined) return { reservation: item.reservation }
  if ('number' in item && item.number !== undefined) return { number: item.number }
  return 'any' as const
}

/**
 * Drives orders at suppliers: `wanted` → `sending` → `ordered` → `completed` or `failed`. Each step is written down before the
 * next, so that after a crash the next run finds out at the supplier what became of the last step: an order is placed
 * once, whatever answers are lost.
 */
export const orderJob = (parts: Parts): Kind<Payload, Outcome> => {
  const { db, suppliers, changes, publicUrl } = parts
  /** Sends the order. The supplier's id, or why it refuses. */
  const send = async (
    row: orders.OrderRow,
    supplier: NumberSupplier,
  ): Promise<{ external: string } | { refused: string }> => {
    const { account_id: account, id } = row
    await orders.setSending(db, account, id)
    const callback = `${publicUrl()}/callbacks/didww/${print('CNX', row.connection_id)}`
    const asked = await supplier.order({ reference: id, sku: row.sku, item: itemOf(row.item), callback })
    if (asked.outcome === 'done') return { external: asked.value.id }
    if (asked.outcome === 'refused') return { refused: asked.reason }
    if (asked.outcome === 'unknown') throw new Retry(asked.reason, 1)
    await orders.setWanted(db, account, id)
    throw new Later(asked.reason, asked.seconds)
  }

  /** What became of an order whose answer was lost: the supplier's id, or null when it surely did not come. */
  const look = async (row: orders.TimedOrder, supplier: NumberSupplier): Promise<string | null> => {
    const found = told(await supplier.findOrder(row.id))
    if (found) return found.id
    const silence = row.silence ?? silenceSeconds
    if (silence < silenceSeconds)
      throw new Retry('it is not known yet whether the order came', silenceSeconds - silence)
    return null
  }

  const run = async ({
    payload: { account, id },
    attempt,
  }: {
    payload: Payload
    attempt: number
  }): Promise<Outcome> => {
    const row = await orders.find(db, account, id)
    if (!row || row.state === 'completed' || row.state === 'failed') return null
    const found = await suppliers.of(row.connection_id)
    if (!found) {
      // A connection with open orders is not taken away; one that was given up at that moment is as if it had been refused.
      if (!(await hasConnection(db, row.connection_id))) return { refused: 'the supplier is not connected any more' }
      throw new Later('the connection of the supplier is not enabled', 60)
    }
    const { supplier } = found
    let external = row.external_id ?? (row.state === 'sending' ? await look(row, supplier) : null)
    if (external === null) {
      const sent = await send(row, supplier)
      if ('refused' in sent) return sent
      external = sent.external
    }
    if (row.external_id === null) await orders.setOrdered(db, account, id, external)
    const { state } = told(await supplier.orderState(external))
    if (state === 'canceled') return { refused: 'the supplier canceled the order' }
    // Its callback makes this shorter; none is promised to come.
    const seconds = Math.min(300, 0.25 * 2 ** Math.min(attempt, 20))
    if (state === 'pending') throw new Retry('the order is pending', seconds)
    const [delivery] = told(await supplier.delivered(external))
    if (!delivery) throw new Retry('the order is completed, and its number is not there yet', seconds)
    return { delivery }
  }

  const settle = async (tx: Tx, { account, id }: Payload, outcome: Outcome) => {
    const row = outcome && (await orders.lock(tx, account, id))
    if (!row || row.state === 'completed' || row.state === 'failed') return
    if ('refused' in outcome) await refuse(tx, changes, row, outcome.refused, null)
    else await deliver(tx, parts, row, outcome.delivery)
  }

  return {
    kind: orderKind,
    concurrency: 32,
    batch: 16,
    leaseSeconds: 30,
    // A month, at five minutes each: what is pending may take its time.
    maxAttempts: 10_000,
    fair: true,
    run,
    // Nobody's money is set aside for ever. The job stays among those that were given up, for the operator to look at.
    failed: (tx, { payload }) => settle(tx, payload, { refused: 'the supplier did not deliver' }),
    settle: async (tx, done) => {
      // In the order in which other statements lock balances too.
      const sorted = done.toSorted((a, b) => (a.job.payload.account < b.job.payload.account ? -1 : 1))
      for (const { job, result } of sorted) await settle(tx, job.payload, result)
    },
  }
}

/** A supplier told that an order has ended: it is asked now. False for an order that is not ours. */
export const hastenOrder = async ({ db }: Parts, connection: string, external: string): Promise<boolean> => {
  const row = await orders.ofSupplier(db, connection, external)
  if (!row) return false
  await db.begin((tx) => hasten(tx, orderKind, { id: row.job_id }))
  return true
}

/** Numbers that were released here are not renewed at their supplier any more. */
export const endJob = ({ db, suppliers }: Parts): Kind<Payload, void> => ({
  kind: 'numbers.end',
  concurrency: 8,
  leaseSeconds: 30,
  maxAttempts: 10_000,
  fair: true,
  backoff: (attempt) => Math.min(600, 5 * 2 ** Math.min(attempt, 20)),
  run: async ({ payload: { account, id } }) => {
    const row = await orders.find(db, account, id)
    if (!row || (row.state === 'failed' && row.delivery_id === null)) return
    if (row.delivery_id === null) throw new Later('its order has not ended', 60)
    const found = await suppliers.of(row.connection_id)
    if (!found && !(await hasConnection(db, row.connection_id)))
      throw new GiveUp(`the supplier is not connected any more: end its number ${row.delivery_id} there by hand`)
    if (!found) throw new Later('the connection of the supplier is not enabled', 600)
    const asked = await found.supplier.end(row.delivery_id)
    if (asked.outcome === 'later') throw new Later(asked.reason, asked.seconds)
    if (asked.outcome !== 'done') throw new Retry(asked.reason, 60)
  },
})

/** Gives a number that was reserved here and is not any more back to its supplier, whose own hold would end later. */
export const unreserveJob = ({ suppliers }: Parts): Kind<{ connection: string; reservation: string }, void> => ({
  kind: 'numbers.unreserve',
  concurrency: 8,
  leaseSeconds: 30,
  // Ten minutes later it ends by itself.
  maxAttempts: 5,
  run: async ({ payload: { connection, reservation } }) => {
    const asked = await (await suppliers.of(connection))?.supplier.cancelReservation(reservation)
    if (asked && (asked.outcome === 'later' || asked.outcome === 'unknown')) throw new Retry(asked.reason, 5)
  },
})
