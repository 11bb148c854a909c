import type { Tx } from '../../../platform/db/sql.ts'
import type { Audit } from '../../../platform/http/audit-entry.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { NumberSupplier, SupplierNumber } from '../../../ports/supplier.ts'
import type { Services } from '../../../services.ts'
import type { LimitedKeys } from '../../ledger/ops.ts'
import * as virtualNumbers from '../lifecycle/virtual-number-store.ts'
import { deliveryWaitMs, maxHoldTries, maxSupplierHolds } from '../limits.ts'
import { groupOf, type PurchaseRequest } from '../ops.ts'
import * as inventory from '../purchase/inventory-store.ts'
import { refusals } from '../refusals.ts'
import type { AnswerRow } from '../registration/store.ts'
import * as offers from './supplier-offer-store.ts'
import * as orders from './supplier-order-store.ts'
import { placeOrder, type RequestKey } from './supplier-orders.ts'

/** A number that its supplier holds for us, or that was free there a moment ago. */
export type HeldNumber = {
  readonly group: string
  readonly connection: string
  readonly number: string
  readonly supplierNumber: string
  /** Null when the supplier holds no more numbers at present. */
  readonly reservation: { readonly id: string; readonly until: number } | null
}

const unavailableProblem = (number: string | null, group: string) =>
  number === null ? refuse(refusals.supplierGroupSoldOut(group)) : refuse(refusals.numberUnavailable(number))

/** The requesting account, and whether the request has an Idempotency-Key. */
type Requester = { readonly account: string; readonly isKeyed: boolean }

/** A purchase of any number of a group. */
type AnyNumberPurchase = {
  name: string | null
  rings: string | null
  by: string | null
  limitedKeys: LimitedKeys
  request: RequestKey | null
  answers: readonly AnswerRow[]
  audit: Audit
}

type Deps = Pick<Services, 'db' | 'suppliers' | 'changes' | 'log'>

/** Holds numbers at suppliers. */
const makeSupplierHolds = ({ db, suppliers, log }: Deps) => {
  /** The customer gets no details; the log has them. */
  const rejectUnanswered = (connection: string, reason: string) => {
    log.warn({ connection, reason }, 'numbers: supplier request failed')
    throw refusals.supplierUnavailable()
  }

  /** Holds one number at its supplier. Null when the number is gone. */
  const holdOne = async (
    supplier: NumberSupplier,
    group: offers.SuppliedGroup,
    one: SupplierNumber,
  ): Promise<HeldNumber | null> => {
    const ours = uuid()
    const base = {
      group: group.group_id,
      connection: group.connection_id,
      number: one.number,
      supplierNumber: one.id,
    }
    const result = await supplier.reserve(one.id, ours)
    if (result.outcome === 'done') return { ...base, reservation: result.value }
    if (result.outcome === 'later') return rejectUnanswered(base.connection, result.reason)
    if (result.outcome === 'unknown') {
      const found = await supplier.reservation(ours)
      if (found.outcome !== 'done') return rejectUnanswered(base.connection, result.reason)
      return found.value && { ...base, reservation: found.value }
    }
    // Refused: the number is gone, or the supplier holds no more. It may be bought without a hold.
    const still = await supplier.available(group.external_id, one.number.slice(1))
    if (still.outcome !== 'done') return rejectUnanswered(base.connection, still.reason)
    return still.value.some(({ id }) => id === one.id) ? { ...base, reservation: null } : null
  }

  const holdInGroup = async (group: offers.SuppliedGroup, number: string | null): Promise<HeldNumber> => {
    const { supplier } =
      (await suppliers.of(group.connection_id)) ?? rejectUnanswered(group.connection_id, 'it is not connected')
    const result = await supplier.available(group.external_id, number?.slice(1) ?? '')
    if (result.outcome !== 'done') return rejectUnanswered(group.connection_id, result.reason)
    const fitting = number === null ? result.value : result.value.filter((one) => one.number === number)
    const start = Math.floor(Math.random() * fitting.length)
    for (const one of [...fitting.slice(start), ...fitting.slice(0, start)].slice(0, maxHoldTries)) {
      const held = await holdOne(supplier, group, one)
      if (held) return held
    }
    return unavailableProblem(number, group.group_id)
  }

  /** Returns the supplier's group of a number that is unknown here. */
  const findSellingGroup = async (number: string): Promise<offers.SuppliedGroup | null> => {
    let away: (() => never) | null = null
    for (const { id, supplier } of await suppliers.all()) {
      const result = await supplier.available(null, number.slice(1))
      if (result.outcome !== 'done') away = () => rejectUnanswered(id, result.reason)
      const found = result.outcome === 'done' ? result.value.find((one) => one.number === number) : null
      const group = found?.group ? await offers.supplierGroupByExternalId(db, id, found.group) : null
      if (group) return group
    }
    // A supplier that did not answer may have the number.
    return away ? away() : null
  }

  /** Cancels the supplier's hold of a failed request. */
  const cancelHold = async ({ connection, reservation }: HeldNumber): Promise<void> => {
    if (reservation)
      await db.begin((tx) => enqueue(tx, 'numbers.unreserve', { connection, reservation: reservation.id }))
  }

  return { holdInGroup, findSellingGroup, cancelHold }
}

const makeOrderWaits = ({ db, changes, suppliers }: Deps) => {
  const waiting = new Set<() => void>()
  const waitLimiter = suppliers.deliveryWaits
  changes.on('numbers', () => {
    for (const look of waiting) look()
  })

  /**
   * Waits for the end of an order, at most the given milliseconds. If too many requests wait, returns the current
   * state.
   */
  const waitForEnd = async (account: string, id: string, ms: number): Promise<orders.OrderRow | null> => {
    if (!waitLimiter.tryAcquire(account)) return orders.find(db, account, id)
    try {
      return await waitForEndUntil(account, id, performance.now() + ms)
    } finally {
      waitLimiter.release(account)
    }
  }

  const waitForEndUntil = async (account: string, id: string, until: number): Promise<orders.OrderRow | null> => {
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

  return waitForEnd
}

/**
 * Buys any number of a supplier's group: commits the order and waits a limited time for its end. A request that is
 * repeated with its Idempotency-Key finds its order again.
 * @returns the virtual number
 * @throws the 402 Problem; the 409 one when the supplier refuses or has not delivered yet, or the key came with
 * another body
 */
const makeBuyAny = (parts: Deps) => {
  const { db, log } = parts
  const waitForEnd = makeOrderWaits(parts)
  return async (
    account: string,
    from: offers.SuppliedGroup,
    { name, rings, by, limitedKeys, request, answers, audit }: AnyNumberPurchase,
  ) => {
    const before = request && (await orders.findByRequest(db, account, request.key))
    if (before && request && !before.request_digest?.equals(request.digest)) throw httpRefusals.idempotencyKeyReused()
    const placed =
      before ??
      (await db.begin(async (tx) => {
        const group = await groupOf(tx, from.group_id, 'real')
        if (request) await orders.releaseRequestKey(tx, account, request.key)
        const details = { number: null, item: {}, name, rings, by, limitedKeys, request, answers }
        const { order } = await placeOrder(tx, account, group, details)
        // The order is the audited act: its number may arrive after this request was rejected.
        await audit(tx, { target: from.group_id, after: { order: order.id, friendly_name: name } })
        return order
      }))
    const row = await waitForEnd(account, placed.id, deliveryWaitMs)
    if (row?.state === 'failed') {
      log.warn(
        { connection: from.connection_id, order: row.id, reason: row.reason },
        'numbers: a supplier refused an order',
      )
      throw refusals.notDelivered()
    }
    const delivered = row?.virtual_number_id && (await virtualNumbers.find(db, account, row.virtual_number_id))
    return delivered || refuse(refusals.orderPending())
  }
}

/** Handles the supplier's part of requests: the queries before a transaction begins. */
export const makeSupplierPurchase = (parts: Deps) => {
  const { db, suppliers, log } = parts
  const limiter = suppliers.limit
  const { holdInGroup, findSellingGroup, cancelHold } = makeSupplierHolds(parts)

  /**
   * Returns the supplier's group for a purchase request; null if our own stock or the account's reservations serve the
   * request. Costs nothing without suppliers.
   * @throws the 503 Problem when a supplier that may have the number does not answer
   */
  const seek = async (
    who: Requester,
    { group, number }: Pick<PurchaseRequest, 'group' | 'number'>,
    isToReserve = false,
  ): Promise<offers.SuppliedGroup | null> => {
    if ((await suppliers.all()).length === 0 || (group === null && number === null)) return null
    if (number !== null && (await inventory.isInInventory(db, number))) return null
    const from =
      group === null
        ? number !== null && (await limiter(who, () => findSellingGroup(number)))
        : await offers.supplierGroup(db, group)
    if (!from) return null
    return number === null && !isToReserve && (await inventory.hasReserved(db, who.account, from.group_id))
      ? null
      : from
  }

  return {
    seek,

    /**
     * Holds the given number, or any, of a supplier's group.
     * @throws the 409 Problem when the number is gone, the 503 one when the supplier does not answer
     */
    holdNumber: (who: Requester, from: offers.SuppliedGroup, number: string | null): Promise<HeldNumber> =>
      limiter(
        who,
        () => holdInGroup(from, number),
        (held) =>
          cancelHold(held).catch((error) => log.warn({ err: error }, 'numbers: cancelling a supplier hold failed')),
      ),

    /** Runs the work that needs a held number; cancels the hold if the work fails. */
    withHold: async <T>(held: HeldNumber | null, work: () => Promise<T>): Promise<T> => {
      try {
        return await work()
      } catch (error) {
        if (held) await cancelHold(held)
        throw error
      }
    },

    /** Returns true while the account may hold another number at a supplier. */
    mayHold: async (account: string): Promise<boolean> =>
      (await inventory.countSupplierHolds(db, account)) < maxSupplierHolds,

    buyAny: makeBuyAny(parts),

    /**
     * Returns some free numbers of a supplier's group; null for an own group. Empty if the supplier does not answer in
     * time, and if `mayAsk` is false.
     */
    available: async (
      account: string,
      group: string,
      digits: string,
      mayAsk = true,
    ): Promise<{ numbers: string[]; missing: string | null } | null> => {
      if ((await suppliers.all()).length === 0) return null
      const from = await offers.supplierGroup(db, group)
      if (!from) return null
      const found = mayAsk ? await suppliers.of(from.connection_id) : null
      if (!found) return { numbers: [], missing: null }
      const { name, supplier } = found
      const result = await limiter({ account, isKeyed: false }, () => supplier.available(from.external_id, digits))
      if (result.outcome !== 'done') return { numbers: [], missing: name }
      return { numbers: result.value.map(({ number }) => number), missing: null }
    },
  }
}

export type SupplierPurchase = ReturnType<typeof makeSupplierPurchase>

/**
 * Reserves a number that its supplier holds, never for longer than the supplier.
 * @throws the 409 Problem when another request was faster
 */
export const reserveHeld = async (
  tx: Tx,
  account: string,
  held: HeldNumber,
  minutes: number,
): Promise<inventory.ReservationRow> => {
  const { number, group, connection } = held
  const added = await inventory.addSupplied(tx, number, group, connection, account, 'held')
  if (!added) return unavailableProblem(number, group)
  const left = held.reservation ? (held.reservation.until - Date.now()) / 60_000 : minutes
  const reservation = await inventory.addReservation(tx, account, uuid(), added, Math.min(minutes, left), {
    number: held.supplierNumber,
    reservation: held.reservation?.id ?? null,
  })
  const payload = { account, id: reservation.id, number }
  await enqueue(tx, 'numbers.expire', payload, { account, runAt: reservation.expires_at })
  return reservation
}
