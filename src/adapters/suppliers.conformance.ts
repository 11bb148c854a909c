import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuid } from '../platform/lib/id.ts'
import type { NumberSupplier, ServiceResult, SupplierGroup } from '../ports/supplier.ts'

type Page = { readonly groups: readonly SupplierGroup[]; readonly next: number | null }

/** A supplier whose behaviour the tests of its connector control. */
export type SupplierHarness = {
  readonly supplier: NumberSupplier
  /** The next mutating request succeeds, but its answer is lost. */
  loseAnswer(): Promise<void>
  /** The next order is accepted and later canceled. */
  cancelOrder(): Promise<void>
  /** The next requested number has just been sold. */
  sellAway(): Promise<void>
  /** Returns the number of orders that the supplier accepted. */
  orders(): Promise<number>
}

/** Returns the value of a successful result. @throws Error for any other outcome */
export const unwrap = <T>(result: ServiceResult<T>): T => {
  if (result.outcome !== 'done') throw new Error(`${result.outcome}: ${result.reason}`)
  return result.value
}

/** Conformance suite that every supplier connector must pass. */
export const supplierSuite = (makeLab: () => Promise<SupplierHarness>): void => {
  const catalogue = async ({ supplier }: SupplierHarness): Promise<SupplierGroup[]> => {
    const all: SupplierGroup[] = []
    let page: number | null = 1
    while (page !== null) {
      const found: Page = unwrap(await supplier.groups(page))
      all.push(...found.groups)
      page = found.next
    }
    return all
  }
  const selectable = async (lab: SupplierHarness) => {
    const group = (await catalogue(lab)).find((one) => one.selectable && one.available > 3)
    assert.ok(group)
    return group
  }
  const any = async ({ supplier }: SupplierHarness, group: string) => {
    const [number] = unwrap(await supplier.available(group, ''))
    assert.ok(number)
    return number
  }
  const skuOf = ({ offers }: SupplierGroup) => offers[0]?.sku ?? ''
  const ended = async ({ supplier }: SupplierHarness, order: string) => {
    for (let i = 0; i < 100; i++) {
      const { state } = unwrap(await supplier.orderState(order))
      if (state !== 'pending') return state
    }
    return 'pending'
  }

  test('groups are paged, each with a country, a type and a price', async () => {
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

  test('free numbers are E.164, belong to the group, and contain the requested digits', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const some = unwrap(await lab.supplier.available(group.id, ''))
    const digits = some[0]?.number.slice(-4) ?? ''
    assert.ok(some.every(({ number }) => number.startsWith(`+${group.callingCode}${group.prefix}`)))
    const found = unwrap(await lab.supplier.available(group.id, digits))
    assert.ok(found.length >= 1 && found.every(({ number }) => number.includes(digits)))
  })

  test('a reserved number is not offered until it is released, and is found by our id', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const number = await any(lab, group.id)
    const ours = uuid()
    const held = unwrap(await lab.supplier.reserve(number.id, ours))
    assert.ok(held.until > Date.now() && held.until < Date.now() + 3_600_000)
    assert.equal(unwrap(await lab.supplier.reservation(ours))?.id, held.id)
    assert.equal((await lab.supplier.reserve(number.id, uuid())).outcome, 'refused')
    const digits = number.number.slice(1)
    assert.deepEqual(unwrap(await lab.supplier.available(group.id, digits)), [])
    unwrap(await lab.supplier.cancelReservation(held.id))
    assert.equal(unwrap(await lab.supplier.reservation(ours)), null)
    assert.equal(unwrap(await lab.supplier.available(group.id, digits)).length, 1)
  })

  test('a reserved number is ordered, delivered, and its renewal can be stopped', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const number = await any(lab, group.id)
    const held = unwrap(await lab.supplier.reserve(number.id, uuid()))
    const reference = uuid()
    const item = { reservation: held.id }
    const order = unwrap(await lab.supplier.order({ reference, sku: skuOf(group), item, callback: null }))
    assert.equal(await ended(lab, order.id), 'completed')
    const [delivered, second] = unwrap(await lab.supplier.deliveredNumbers(order.id))
    assert.deepEqual([delivered?.number, second], [number.number, undefined])
    assert.equal(unwrap(await lab.supplier.findOrder(reference))?.id, order.id)
    unwrap(await lab.supplier.stopRenewal(delivered?.id ?? ''))
    unwrap(await lab.supplier.stopRenewal(delivered?.id ?? ''))
  })

  test('a group without number selection delivers any of its numbers, and refuses orders beyond its stock', async () => {
    const lab = await makeLab()
    const group = (await catalogue(lab)).find((one) => !one.selectable && one.available > 0)
    assert.ok(group)
    const ask = () => lab.supplier.order({ reference: uuid(), sku: skuOf(group), item: 'any', callback: null })
    const order = unwrap(await ask())
    assert.equal(await ended(lab, order.id), 'completed')
    const [delivered] = unwrap(await lab.supplier.deliveredNumbers(order.id))
    assert.ok(delivered?.number.startsWith(`+${group.callingCode}${group.prefix}`))
    for (let left = group.available - 1; left > 0; left--) unwrap(await ask())
    assert.equal((await ask()).outcome, 'refused')
  })

  test('an order whose answer was lost is found by our reference; an order that was never placed is not', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    const reference = uuid()
    await lab.loseAnswer()
    const number = await any(lab, group.id)
    const item = { number: number.id }
    const lost = await lab.supplier.order({ reference, sku: skuOf(group), item, callback: null })
    assert.equal(lost.outcome, 'unknown')
    assert.ok(unwrap(await lab.supplier.findOrder(reference)))
    assert.equal(unwrap(await lab.supplier.findOrder(uuid())), null)
    assert.equal(await lab.orders(), 1)
  })

  test('a number that was sold meanwhile is refused, and the supplier may cancel an order', async () => {
    const lab = await makeLab()
    const group = await selectable(lab)
    await lab.sellAway()
    assert.equal((await lab.supplier.reserve((await any(lab, group.id)).id, uuid())).outcome, 'refused')
    await lab.cancelOrder()
    const item = { number: (await any(lab, group.id)).id }
    const order = unwrap(await lab.supplier.order({ reference: uuid(), sku: skuOf(group), item, callback: null }))
    assert.equal(await ended(lab, order.id), 'canceled')
    assert.deepEqual(unwrap(await lab.supplier.deliveredNumbers(order.id)), [])
  })

  test('the supplier reports the state up after a successful check', async () => {
    const { supplier } = await makeLab()
    assert.match(unwrap(await supplier.check()), /balance/)
    assert.equal(supplier.state().state, 'up')
  })
}
