import { randomInt, randomUUID } from 'node:crypto'
import { sign } from '../../../src/adapters/didww/codec/signature.ts'
import { type Fields, fieldsOf, type Resource, type Store } from './resources.ts'
import type { Faults } from './supplier-faults.ts'

/** An API error: HTTP status and the API's own code (100: validation). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, detail: string, code = '100') {
    super(detail)
    this.status = status
    this.code = code
  }
}

/** Maximum reservations, and the duration of each. */
const maxReservations = 10
const reservationMs = 10 * 60_000

const month = 30 * 86_400_000

const text = (from: Fields, name: string): string | null => {
  const value = from[name]
  return typeof value === 'string' ? value : null
}

const numberOf = (from: Fields, name: string): number => Number(from[name] ?? 0)

export type Deps = { store: Store; faults: Faults; secret: string; completeMs: number }

/** Reservations, orders and deliveries of numbers. */
export class Ordering {
  readonly #store: Store
  readonly #faults: Faults
  readonly #secret: string
  readonly #completeMs: number
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor({ store, faults, secret, completeMs }: Deps) {
    this.#store = store
    this.#faults = faults
    this.#secret = secret
    this.#completeMs = completeMs
  }

  /** Active reservations; expired ones are removed. */
  reservations(): Resource[] {
    const live: Resource[] = []
    for (const one of this.#store.all('did_reservations')) {
      if (Date.parse(text(one.attributes, 'expires_at') ?? '') > Date.now()) live.push(one)
      else this.#store.remove(one)
    }
    return live
  }

  /** Numbers that are not reserved. */
  free(group: string | null = null): Resource[] {
    const held = new Set(this.reservations().map((one) => this.#store.one(one, 'available_did')?.id))
    return this.#store
      .all('available_dids')
      .filter((one) => !held.has(one.id) && (group === null || this.#store.one(one, 'did_group')?.id === group))
  }

  reserve(number: string, attributes: Fields): Resource {
    const found = this.free().find(({ id }) => id === number)
    if (!found) throw new ApiError(422, 'Available DID is not available')
    if (this.reservations().length >= maxReservations) throw new ApiError(422, 'Reservations limit is reached')
    const now = Date.now()
    return this.#store.put({
      id: randomUUID(),
      type: 'did_reservations',
      attributes: {
        expires_at: new Date(now + reservationMs).toISOString(),
        created_at: new Date(now).toISOString(),
        description: text(attributes, 'description'),
      },
      relations: { available_did: { type: 'available_dids', id: found.id } },
      meta: null,
    })
  }

  /** Accepts an order. Its numbers leave the stock at once and are delivered on completion. */
  order(attributes: Fields): Resource {
    const orderedItems = Array.isArray(attributes.items) ? attributes.items.map(fieldsOf) : []
    if (orderedItems.length === 0) throw new ApiError(422, 'Items can not be blank')
    const items = orderedItems.map((item) =>
      this.#item(fieldsOf(item.attributes), attributes.allow_back_ordering !== false),
    )
    const amount = items.reduce((sum, { price }) => sum + price, 0)
    const [account] = this.#store.all('balances')
    const total = Number(account?.attributes.total_balance ?? 0)
    if (amount > total) throw new ApiError(422, 'Insufficient funds')
    if (account) account.attributes.total_balance = (total - amount).toFixed(2)
    const order = this.#store.put({
      id: randomUUID(),
      type: 'orders',
      attributes: {
        amount: amount.toFixed(2),
        status: 'pending',
        created_at: new Date().toISOString(),
        description: 'DID',
        reference: `SIM-${randomInt(100_000, 999_999)}`,
        items: items.map(({ shown }) => ({ type: 'did_order_items', attributes: shown })),
        callback_url: text(attributes, 'callback_url'),
        callback_method: text(attributes, 'callback_method'),
        external_reference_id: text(attributes, 'external_reference_id'),
      },
      relations: {},
      meta: null,
    })
    const numbers = items.flatMap((item) => item.numbers)
    for (const one of numbers) this.#store.remove(one)
    const isCanceled = this.#faults.take(['cancel-order'], 'POST', '/orders') !== null
    this.#later(this.#completeMs, () => this.#end(order, numbers, isCanceled))
    return order
  }

  #item(item: Fields, mayWait: boolean) {
    const sku = this.#store.find('stock_keeping_units', text(item, 'sku_id') ?? '')
    const group =
      sku && this.#store.all('did_groups').find((one) => this.#store.many(one, 'stock_keeping_units').includes(sku))
    if (!sku || !group) throw new ApiError(422, 'Sku is invalid')
    const numbers = this.#chosen(item, group, mayWait)
    const [setup, monthly] = [numberOf(sku.attributes, 'setup_price'), numberOf(sku.attributes, 'monthly_price')]
    const shown = {
      qty: numbers.length,
      nrc: String(sku.attributes.setup_price),
      mrc: String(sku.attributes.monthly_price),
      prorated_mrc: false,
      billed_from: null,
      billed_to: null,
      setup_price: String(sku.attributes.setup_price),
      monthly_price: String(sku.attributes.monthly_price),
      did_group_id: group.id,
    }
    return { numbers, price: (setup + monthly) * numbers.length, shown }
  }

  #chosen(item: Fields, group: Resource, mayWait: boolean): Resource[] {
    const reservation = this.reservations().find(({ id }) => id === item.did_reservation_id)
    if (item.did_reservation_id !== undefined) {
      const number = reservation && this.#store.one(reservation, 'available_did')
      if (!reservation || !number) throw new ApiError(422, 'Did reservation is invalid')
      this.#store.remove(reservation)
      return [number]
    }
    if (item.available_did_id !== undefined) {
      const number = this.free(group.id).find(({ id }) => id === item.available_did_id)
      if (!number) throw new ApiError(422, 'Available DID is not available')
      return [number]
    }
    const quantity = Math.max(1, numberOf(item, 'qty'))
    const numbers = this.free(group.id).slice(0, quantity)
    if (numbers.length < quantity && !mayWait) throw new ApiError(422, 'DIDs are out of stock')
    return numbers
  }

  #later(ms: number, effect: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      effect()
    }, ms)
    this.#timers.add(timer)
  }

  #end(order: Resource, numbers: Resource[], isCanceled: boolean): void {
    if (order.attributes.status !== 'pending') return
    if (this.#faults.has('hold-order')) {
      this.#later(50, () => this.#end(order, numbers, isCanceled))
      return
    }
    if (isCanceled) this.cancel(order, numbers)
    else {
      order.attributes.status = 'completed'
      for (const number of numbers) this.#deliver(order, number)
    }
    void this.#call(order)
  }

  /** Cancels an order; refunds the amount and returns the numbers to the stock. */
  cancel(order: Resource, numbers: Resource[] = []): void {
    if (order.attributes.status !== 'pending') throw new ApiError(422, 'The order can not be canceled')
    order.attributes.status = 'canceled'
    for (const number of numbers) this.#store.put(number)
    const [account] = this.#store.all('balances')
    if (account)
      account.attributes.total_balance = (
        Number(account.attributes.total_balance) + Number(order.attributes.amount)
      ).toFixed(2)
  }

  #deliver(order: Resource, number: Resource): void {
    const group = this.#store.one(number, 'did_group')
    const now = Date.now()
    this.#store.put({
      id: randomUUID(),
      type: 'dids',
      attributes: {
        blocked: false,
        capacity_limit: null,
        description: null,
        terminated: false,
        awaiting_registration: group?.meta?.needs_registration === true,
        created_at: new Date(now).toISOString(),
        billing_cycles_count: null,
        number: number.attributes.number,
        expires_at: new Date(now + month).toISOString(),
        channels_included_count: 0,
        dedicated_channels_count: 0,
        emergency_enabled: false,
      },
      relations: { did_group: group && { type: group.type, id: group.id }, order: { type: 'orders', id: order.id } },
      meta: null,
    })
  }

  /** Sends the signed callback of a finished order. Sent once: no retry schedule is published. */
  async #call(order: Resource): Promise<void> {
    const url = text(order.attributes, 'callback_url')
    if (url === null) return
    const parameters = new Map([
      ['id', order.id],
      ['type', 'orders'],
      ['status', String(order.attributes.status)],
    ])
    const body = new URLSearchParams([...parameters]).toString()
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-didww-signature': sign(this.#secret, url, parameters) ?? '',
    }
    await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(5000) }).catch(() => {})
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}
