import type { NumberSupplier, SupplierNumber } from '../connectors/port.ts'
import type { Tx } from '../db/sql.ts'
import { keyReused } from '../http/idempotency.ts'
import { conflict, unavailable } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import { uuid } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
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

/** How long a purchase waits for its delivery, and how many do so at a time: each holds a connection to the database while its
 *  request has an Idempotency-Key. */
const waitMs = 8_000
const mostWaiting = 4

const gone = (number: string | null, group: string) =>
  number === null
    ? conflict(`The group ${group} has no free number`, 'group_sold_out')
    : conflict(`${number} is not available`, 'number_unavailable')

const silent = (reason: string) =>
  unavailable(
    `The supplier of this number does not answer (${reason}): nothing was charged, try again`,
    'supplier_unavailable',
  )

/** How any number of a group is bought. */
type Any = { name: string | null; request: RequestKey | null; answers: readonly AnswerRow[] }

/** Holds one number at its supplier. Null when it is gone. */
const hold = async (
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
  if (asked.outcome === 'later') return silent(asked.reason)
  if (asked.outcome === 'unknown') {
    const found = await supplier.reservation(ours)
    if (found.outcome !== 'done') return silent(asked.reason)
    return found.value && { ...base, reservation: found.value }
  }
  // Refused: the number is gone, or the supplier holds no more. It may be bought without a hold.
  const still = await supplier.available(group.external_id, one.number.slice(1))
  const isThere = still.outcome === 'done' && still.value.some(({ id }) => id === one.id)
  return isThere ? { ...base, reservation: null } : null
}

/** The supplier's part of requests: what is asked there before a transaction begins. */
export const makeOutside = ({ db, suppliers, changes }: Pick<Parts, 'db' | 'suppliers' | 'changes'>) => {
  const inGroup = async (group: offers.SuppliedGroup, number: string | null): Promise<Held> => {
    const { supplier } = (await suppliers.of(group.connection_id)) ?? silent('it is not connected')
    const asked = await supplier.available(group.external_id, number?.slice(1) ?? '')
    if (asked.outcome === 'later' || asked.outcome === 'unknown') return silent(asked.reason)
    const found = asked.outcome === 'done' ? asked.value : []
    const fitting = number === null ? found : found.filter((one) => one.number === number)
    const start = Math.floor(Math.random() * fitting.length)
    for (const one of [...fitting.slice(start), ...fitting.slice(0, start)].slice(0, tries)) {
      const held = await hold(supplier, group, one)
      if (held) return held
    }
    return gone(number, group.group_id)
  }

  /** The group of a number that is not known here, wherever it is sold. */
  const soldIn = async (number: string): Promise<offers.SuppliedGroup | null> => {
    for (const { id, supplier } of await suppliers.all()) {
      const asked = await supplier.available(null, number.slice(1))
      const found = asked.outcome === 'done' ? asked.value.find((one) => one.number === number) : null
      const group = found?.group ? await offers.suppliedBy(db, id, found.group) : null
      if (group) return group
    }
    return null
  }

  /**
   * The group in which a supplier sells what is wished; null when that is for our own stock, or for what the account holds
   * already. Costs nothing where there are no suppliers.
   */
  const seek = async (
    account: string,
    { group, number }: Wish,
    isToReserve = false,
  ): Promise<offers.SuppliedGroup | null> => {
    if ((await suppliers.all()).length === 0 || (group === null && number === null)) return null
    if (number !== null && (await inventory.isKnown(db, number))) return null
    const from = group === null ? number !== null && (await soldIn(number)) : await offers.supplied(db, group)
    if (!from) return null
    return number === null && !isToReserve && (await inventory.hasReserved(db, account, from.group_id)) ? null : from
  }

  const waiting = new Set<() => void>()
  changes.on('numbers', () => {
    for (const look of waiting) look()
  })

  /** Waits for the end of an order, so many milliseconds at most and with few others: who comes later gets its state as it is. */
  const ended = async (account: string, id: string, ms: number): Promise<orders.OrderRow | null> => {
    const until = performance.now() + ms
    for (;;) {
      const changed = Promise.withResolvers<void>()
      waiting.add(changed.resolve)
      const row = await orders.find(db, account, id)
      const left = until - performance.now()
      const isOver =
        !row || row.state === 'completed' || row.state === 'failed' || left <= 0 || waiting.size > mostWaiting
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
    hold: inGroup,

    /**
     * Buys any number of a supplier's group: the order is written down and committed, and its end waited for a while.
     * A request that is repeated with its Idempotency-Key finds its order again.
     * @returns the virtual number
     * @throws the 402 Problem; the 409 one when the supplier refuses or has not delivered yet, or the key came with another body
     */
    buyAny: async (account: string, from: offers.SuppliedGroup, { name, request, answers }: Any) => {
      const before = request && (await orders.ofRequest(db, account, request.key))
      if (before && request && !before.request_digest?.equals(request.digest)) keyReused()
      const placed =
        before ??
        (await db.begin(async (tx) => {
          const group = await groupOf(tx, from.group_id)
          if (request) await orders.forgetRequest(tx, account, request.key)
          return (await place(tx, account, group, { number: null, item: {}, name, request, answers })).order
        }))
      const row = await ended(account, placed.id, waitMs)
      if (row?.state === 'failed')
        return conflict(`The supplier refused: ${row.reason}; nothing was charged`, 'not_delivered')
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
    available: async (group: string, digits: string): Promise<{ numbers: string[]; missing: string | null } | null> => {
      if ((await suppliers.all()).length === 0) return null
      const from = await offers.supplied(db, group)
      if (!from) return null
      const found = await suppliers.of(from.connection_id)
      const asked = await found?.supplier.available(from.external_id, digits)
      if (!found || asked?.outcome !== 'done') return { numbers: [], missing: found?.name ?? null }
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
