import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuid } from '../lib/id.ts'
import type { Asked, NumberSupplier, SupplierGroup } from './port.ts'

type Page = { readonly groups: readonly SupplierGroup[]; readonly next: number | null }

/** What a supplier can be made to do by the tests of its connector. */
export type Lab = {
  readonly supplier: NumberSupplier
  /** The next request that changes something is done, and its answer is lost. */
  loseAnswer(): Promise<void>
  /** The next order is taken, and canceled in the end. */
  cancelOrder(): Promise<void>
  /** The next number that is asked for has just been sold. */
  sellAway(): Promise<void>
  /** Orders that the supplier has taken. */
  orders(): Promise<number>
}

/** The value of an answer. */
export const done = <T>(asked: Asked<T>): T => {
  if (asked.outcome !== 'done') throw new Error(`${asked.outcome}: ${asked.reason}`)
  return asked.value
}

/** Every connector to a supplier passes this. */
export const supplierSuite = (makeLab: () => Promise<Lab>): void => {
  const catalogue = async ({ supplier }: Lab): Promise<SupplierGroup[]> => {
    const all: SupplierGroup[] = []
    let page: number | null = 1
    while (page !== null) {
      const given: Page = done(await supplier.groups(page))
      all.push(...given.groups)
      page = given.next
    }
    return all
  }
  const selectable = async (lab: Lab) => {
    const group = (await catalogue(lab)).find((one) => one.selectable && one.available > 3)
    assert.ok(group)
    return group
  }
  const any = async ({ supplier }: Lab, group: string) => {
    const [number] = done(await supplier.available(group, ''))
    assert.ok(number)
    return number
  }
  const skuOf = ({ offers }: SupplierGroup) => offers[0]?.sku ?? ''
  const ended = async ({ supplier }: Lab, order: string) => {
    for (let i = 0; i < 100; i++) {
      const { state } = done(await supplier.orderState(order))
      if (state !== 'pending') return state
    }
    return 'pending'
  }

  test('the groups come in pages, each with a country, a type and a price', async () => {
    const all = await catalogue(await makeLab())
    assert.ok(all.length >= 3)
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
    for (const { country, offers, prefix } of all) {
      assert.match(country, /^[A-Z]{2}$/)
      assert.match(prefix, /^\d*$/)
      assert.ok(offers.length > 0)
    }
    assert.ok(all.some(({ registration }) => registration !== null))
  })

  test('free numbers are E.164, of the group, and hold the digits asked for', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const some = done(await lab.supplier.available(group.id, ''))
    const digits = some[0]?.number.slice(-4) ?? ''
    assert.ok(some.every(({ number }) => number.startsWith(`+${group.callingCode}${group.prefix}`)))
    const found = done(await lab.supplier.available(group.id, digits))
    assert.ok(found.length >= 1 && found.every(({ number }) => number.includes(digits)))
  })

  test('a reserved number is not offered until it is given back, and is found again by our id', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const number = await any(lab, group.id)
    const ours = uuid()
    const held = done(await lab.supplier.reserve(number.id, ours))
    assert.ok(held.until > Date.now() && held.until < Date.now() + 3_600_000)
    assert.equal(done(await lab.supplier.reservation(ours))?.id, held.id)
    assert.equal((await lab.supplier.reserve(number.id, uuid())).outcome, 'refused')
    const digits = number.number.slice(1)
    assert.deepEqual(done(await lab.supplier.available(group.id, digits)), [])
    done(await lab.supplier.cancelReservation(held.id))
    assert.equal(done(await lab.supplier.reservation(ours)), null)
    assert.equal(done(await lab.supplier.available(group.id, digits)).length, 1)
  })

  test('a reserved number is ordered, delivered, and not renewed any more', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const number = await any(lab, group.id)
    const held = done(await lab.supplier.reserve(number.id, uuid()))
    const reference = uuid()
    const item = { reservation: held.id }
    const order = done(await lab.supplier.order({ reference, sku: skuOf(group), item, callback: null }))
    assert.equal(await ended(lab, order.id), 'completed')
    const [delivered, second] = done(await lab.supplier.delivered(order.id))
    assert.deepEqual([delivered?.number, second], [number.number, undefined])
    assert.equal(done(await lab.supplier.findOrder(reference))?.id, order.id)
    done(await lab.supplier.end(delivered?.id ?? ''))
    done(await lab.supplier.end(delivered?.id ?? ''))
  })

  test('a group that lets nobody choose delivers any of its numbers, and never waits for one', async () => {
    const lab = await makeLab()
    const group = (await catalogue(lab)).find((one) => !one.selectable && one.available > 0)
    assert.ok(group)
    const ask = () => lab.supplier.order({ reference: uuid(), sku: skuOf(group), item: 'any', callback: null })
    const order = done(await ask())
    assert.equal(await ended(lab, order.id), 'completed')
    const [delivered] = done(await lab.supplier.delivered(order.id))
    assert.ok(delivered?.number.startsWith(`+${group.callingCode}${group.prefix}`))
    for (let left = group.available - 1; left > 0; left--) done(await ask())
    assert.equal((await ask()).outcome, 'refused')
  })

  test('an order whose answer was lost is found by our reference; one that never came is not', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const reference = uuid()
    await lab.loseAnswer()
    const number = await any(lab, group.id)
    const item = { number: number.id }
    const lost = await lab.supplier.order({ reference, sku: skuOf(group), item, callback: null })
    assert.equal(lost.outcome, 'unknown')
    assert.ok(done(await lab.supplier.findOrder(reference)))
    assert.equal(done(await lab.supplier.findOrder(uuid())), null)
    assert.equal(await lab.orders(), 1)
  })

  test('a number that was sold meanwhile is refused, and an order may be canceled by the supplier', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    await lab.sellAway()
    assert.equal((await lab.supplier.reserve((await any(lab, group.id)).id, uuid())).outcome, 'refused')
    await lab.cancelOrder()
    const item = { number: (await any(lab, group.id)).id }
    const order = done(await lab.supplier.order({ reference: uuid(), sku: skuOf(group), item, callback: null }))
    assert.equal(await ended(lab, order.id), 'canceled')
    assert.deepEqual(done(await lab.supplier.delivered(order.id)), [])
  })

  test('it tells that it is up once it was asked', async () => {
    const { supplier } = await makeLab()
    assert.match(done(await supplier.check()), /balance/)
    assert.equal(supplier.state().state, 'up')
  })
}
