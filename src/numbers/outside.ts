import type { NumberSupplier, SupplierNumber } from '../connectors/port.ts'
import type { Tx } from '../db/sql.ts'
import type { Audit } from '../http/audit.ts'
import { keyReused } from '../http/idempotency.ts'
import { conflict, unavailable } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { uuid } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { makeGate } from './gate.ts'
import * as inventory from './inventory.ts'
import * as offers from './offers.ts'
import { groupOf, type Wish } from './ops.ts'
import * as orders from './orders.ts'
import * as owned from './owned.ts'
import type { AnswerRow } from './registrations.ts'
import { place, type RequestKey } from './supply.ts'

/** A number of a supplier that is held there for us, or was free there a moment ago. */
export type Held = {
  readonly group: string
  readonly connection: string
  readonly number: string
  readonly supplierNumber: string
  /** Null when the supplier holds no more numbers at this moment. */
  readonly reservation: { readonly id: string; readonly until: number } | null
}

/** Whoever reserves meets others who reserve: so many numbers are tried. */
const tries = 3

/** How long a purchase waits for its delivery, and how many do so at a time, of an account and in all: each holds a connection
 *  to the database while its request has an Idempotency-Key. */
const waitMs = 8_000
const mostWaiting = { perKey: 2, total: 4 }

const gone = (number: string | null, group: string) =>
  number === null
    ? conflict(`The group ${group} has no free number`, 'group_sold_out')
    : conflict(`${number} is not available`, 'number_unavailable')

/** How many numbers an account may hold at suppliers, which hold few for all of us together. */
const mostHeld = 5

/** Whose request it is, and whether it has an Idempotency-Key. */
type Asking = { readonly account: string; readonly isKeyed: boolean }

/** How any number of a group is bought. */
type Any = { name: string | null; request: RequestKey | null; answers: readonly AnswerRow[]; audit: Audit }

/** The supplier's part of requests: what is asked there before a transaction begins. */
export const makeOutside = ({ db, suppliers, changes, log }: Pick<Parts, 'db' | 'suppliers' | 'changes' | 'log'>) => {
  const gate = makeGate()

  /** Why is the operator's affair. */
  const silent = (connection: string, reason: string) => {
    log.warn({ connection, reason }, 'a supplier of numbers did not do what a request asked for')
    return unavailable(
      'The supplier of this number does not answer: nothing was charged, try again',
      'supplier_unavailable',
    )
  }

  /** Holds one number at its supplier. Null when it is gone. */
  const holdOne = async (
    supplier: NumberSupplier,
    group: offers.SuppliedGroup,
    one: SupplierNumber,
  ): Promise<Held | null> => {
    const ours = uuid()
    const base = {
      group: group.group_id,
      connection: group.connection_id,
      number: one.number,
      supplierNumber: one.id,
    }
    const asked = await supplier.reserve(one.id, ours)
    if (asked.outcome === 'done') return { ...base, reservation: asked.value }
    if (asked.outcome === 'later') return silent(base.connection, asked.reason)
    if (asked.outcome === 'unknown') {
      const found = await supplier.reservation(ours)
      if (found.outcome !== 'done') return silent(base.connection, asked.reason)
      return found.value && { ...base, reservation: found.value }
    }
    // Refused: the number is gone, or the supplier holds no more. It may be bought without a hold.
    const still = await supplier.available(group.external_id, one.number.slice(1))
    if (still.outcome !== 'done') return silent(base.connection, still.reason)
    return still.value.some(({ id }) => id === one.id) ? { ...base, reservation: null } : null
  }

  const inGroup = async (group: offers.SuppliedGroup, number: string | null): Promise<Held> => {
    const { supplier } = (await suppliers.of(group.connection_id)) ?? silent(group.connection_id, 'it is not connected')
    const asked = await supplier.available(group.external_id, number?.slice(1) ?? '')
    if (asked.outcome !== 'done') return silent(group.connection_id, asked.reason)
    const fitting = number === null ? asked.value : asked.value.filter((one) => one.number === number)
    const start = Math.floor(Math.random() * fitting.length)
    for (const one of [...fitting.slice(start), ...fitting.slice(0, start)].slice(0, tries)) {
      const held = await holdOne(supplier, group, one)
      if (held) return held
    }
    return gone(number, group.group_id)
  }

  /** The group of a number that is not known here, wherever it is sold. */
  const soldIn = async (number: string): Promise<offers.SuppliedGroup | null> => {
    let away: (() => never) | null = null
    for (const { id, supplier } of await suppliers.all()) {
      const asked = await supplier.available(null, number.slice(1))
      if (asked.outcome !== 'done') away = () => silent(id, asked.reason)
      const found = asked.outcome === 'done' ? asked.value.find((one) => one.number === number) : null
      const group = found?.group ? await offers.suppliedBy(db, id, found.group) : null
      if (group) return group
    }
    // Who did not answer may have it.
    return away ? away() : null
  }

  /** What was held for a request that came to nothing is not held any longer. */
  const letGo = async ({ connection, reservation }: Held): Promise<void> => {
    if (reservation)
      await db.begin((tx) => enqueue(tx, 'numbers.unreserve', { connection, reservation: reservation.id }))
  }

  /**
   * The group in which a supplier sells what is wished; null when that is for our own stock, or for what the account holds
   * already. Costs nothing where there are no suppliers.
   * @throws the 503 Problem when a supplier that may have it does not answer
   */
  const seek = async (
    who: Asking,
    { group, number }: Wish,
    isToReserve = false,
  ): Promise<offers.SuppliedGroup | null> => {
    if ((await suppliers.all()).length === 0 || (group === null && number === null)) return null
    if (number !== null && (await inventory.isKnown(db, number))) return null
    const from =
      group === null ? number !== null && (await gate(who, () => soldIn(number))) : await offers.supplied(db, group)
    if (!from) return null
    return number === null && !isToReserve && (await inventory.hasReserved(db, who.account, from.group_id))
      ? null
      : from
  }

  const waiting = new Set<() => void>()
  const waits = makeFairLimiter(mostWaiting)
  changes.on('numbers', () => {
    for (const look of waiting) look()
  })

  /** Waits for the end of an order, so many milliseconds at most and with few others: who comes later gets its state as it is. */
  const ended = async (account: string, id: string, ms: number): Promise<orders.OrderRow | null> => {
    if (!waits.tryAcquire(account)) return orders.find(db, account, id)
    try {
      return await endedBy(account, id, performance.now() + ms)
    } finally {
      waits.release(account)
    }
  }

  const endedBy = async (account: string, id: string, until: number): Promise<orders.OrderRow | null> => {
    for (;;) {
      const changed = Promise.withResolvers<void>()
      waiting.add(changed.resolve)
      const row = await orders.find(db, account, id)
      const left = until - performance.now()
      const isOver = !row || row.state === 'completed' || row.state === 'failed' || left <= 0
      const timer = setTimeout(changed.resolve, left)
      if (!isOver) await changed.promise
      clearTimeout(timer)
      waiting.delete(changed.resolve)
      if (isOver) return row
    }
  }

  return {
    seek,

    /**
     * Holds a number of a supplier's group, that one or any.
     * @throws the 409 Problem when it is gone, the 503 one when the supplier does not answer
     */
    hold: (who: Asking, from: offers.SuppliedGroup, number: string | null): Promise<Held> =>
      gate(
        who,
        () => inGroup(from, number),
        (held) => letGo(held).catch((error) => log.warn({ err: error }, 'a hold at a supplier was not given back')),
      ),

    /** Does what a number was held for; when that fails, the supplier holds it no longer. */
    keeping: async <T>(held: Held | null, work: () => Promise<T>): Promise<T> => {
      try {
        return await work()
      } catch (error) {
        if (held) await letGo(held)
        throw error
      }
    },

    /** True when the account may hold another number at a supplier. */
    mayHold: async (account: string): Promise<boolean> => (await inventory.heldOutside(db, account)) < mostHeld,

    /**
     * Buys any number of a supplier's group: the order is written down and committed, and its end waited for a while.
     * A request that is repeated with its Idempotency-Key finds its order again.
     * @returns the virtual number
     * @throws the 402 Problem; the 409 one when the supplier refuses or has not delivered yet, or the key came with another body
     */
    buyAny: async (account: string, from: offers.SuppliedGroup, { name, request, answers, audit }: Any) => {
      const before = request && (await orders.ofRequest(db, account, request.key))
      if (before && request && !before.request_digest?.equals(request.digest)) keyReused()
      const placed =
        before ??
        (await db.begin(async (tx) => {
          const group = await groupOf(tx, from.group_id)
          if (request) await orders.forgetRequest(tx, account, request.key)
          const { order } = await place(tx, account, group, { number: null, item: {}, name, request, answers })
          // The order is the act: its number may come after this request was refused.
          await audit(tx, { target: from.group_id, after: { order: order.id, friendly_name: name } })
          return order
        }))
      const row = await ended(account, placed.id, waitMs)
      if (row?.state === 'failed') {
        log.warn({ connection: from.connection_id, order: row.id, reason: row.reason }, 'a supplier refused an order')
        return conflict('The supplier did not deliver a number; nothing was charged', 'not_delivered')
      }
      const made = row?.virtual_number_id && (await owned.find(db, account, row.virtual_number_id))
      return (
        made ||
        conflict(
          'The number is ordered, and its supplier has not delivered it yet: it will stand among the virtual numbers, and is paid for then',
          'order_pending',
        )
      )
    },

    /** Some free numbers of a supplier's group; null for a group of ours. Without an answer in time there are none. */
    available: async (
      account: string,
      group: string,
      digits: string,
    ): Promise<{ numbers: string[]; missing: string | null } | null> => {
      if ((await suppliers.all()).length === 0) return null
      const from = await offers.supplied(db, group)
      if (!from) return null
      const found = await suppliers.of(from.connection_id)
      if (!found) return { numbers: [], missing: null }
      const { name, supplier } = found
      const asked = await gate({ account, isKeyed: false }, () => supplier.available(from.external_id, digits))
      if (asked.outcome !== 'done') return { numbers: [], missing: name }
      return { numbers: asked.value.map(({ number }) => number), missing: null }
    },
  }
}

export type Outside = ReturnType<typeof makeOutside>

/** Reserves what is held at a supplier, never for longer than there. @throws the 409 Problem when somebody here was faster */
export const reserveHeld = async (
  tx: Tx,
  account: string,
  held: Held,
  minutes: number,
): Promise<inventory.ReservationRow> => {
  const { number, group, connection } = held
  const added = await inventory.addSupplied(tx, number, group, connection, account, 'held')
  if (!added) return gone(number, group)
  const left = held.reservation ? (held.reservation.until - Date.now()) / 60_000 : minutes
  const made = await inventory.addReservation(tx, account, uuid(), added, Math.min(minutes, left), {
    number: held.supplierNumber,
    reservation: held.reservation?.id ?? null,
  })
  const payload = { account, id: made.id, number }
  await enqueue(tx, 'numbers.expire', payload, { account, runAt: made.expires_at })
  return made
}
