import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../test/world.ts'
import type { NumberSupplier } from '../../../ports/supplier.ts'
import { maxSupplierSearches, supplierRequestLimits } from '../limits.ts'
import { makeSupplierPurchase } from '../suppliers/supplier-purchase.ts'
import { makeNumberShop } from './ops.ts'

const world = await makeWorld()
const { db, parts, call } = world
const settings = { api_key: 'key', base_url: 'http://127.0.0.1:3/v3' }
const connected = await call('operator', 'POST', '/operator/connections', { kind: 'didww', name: 'Away', settings })
const connection: string = connected.body.connection.uuid.slice(3)
const groups = 12
await db.run`insert into number_countries values ('GB', 'United Kingdom', '44')`
for (let n = 0; n < groups; n++) {
  const id = `group-${n}`
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, needs_registration, supplier)
    values (${id}, 'GB', 'local', ${String(1632 + n)}, 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, false, ${connection})`
  await db.run`insert into number_stock (group_id, free) values (${id}, 1)`
  await db.run`
    insert into supplier_groups (group_id, connection_id, external_id, sku, setup_cost, monthly_cost, features, seen_at)
    values (${id}, ${connection}, ${id}, 'sku', 1, 1, '{voice_in,sms_in,sms_out}', app_now())`
}

/** The services with a supplier that answers as given. */
const withSupplier = async (available: NumberSupplier['available']) => {
  const known = await parts.suppliers.of(connection)
  assert.ok(known)
  const found = { ...known, supplier: { ...known.supplier, available } }
  return { ...parts, suppliers: { ...parts.suppliers, all: async () => [found], of: async () => found } }
}

const wanted = {
  country: 'GB',
  type: 'local',
  prefix: null,
  place: null,
  digits: '',
  needs: { sms: false, voice: false },
  limit: 50,
} as const

test('one search asks suppliers a few times at most, however many of their groups match', async () => {
  let asked = 0
  const shop = makeNumberShop(
    await withSupplier(async () => ({
      outcome: 'done',
      value: [{ id: 'n', number: `+44163200000${asked++}`, group: null }],
    })),
  )
  const found = await shop.search((await world.tenant()).id, wanted)
  assert.deepEqual([asked, found?.length], [maxSupplierSearches, maxSupplierSearches])
})

test('all ways to search share the limit of an account at suppliers', async () => {
  let [asked, found] = [0, 0]
  const answer = Promise.withResolvers<void>()
  const services = await withSupplier(async () => {
    asked++
    await answer.promise
    return { outcome: 'done', value: [] }
  })
  const all = Promise.withResolvers<void>()
  const { of } = services.suppliers
  const counted = {
    ...services.suppliers,
    of: async () => {
      if (++found === 4) all.resolve()
      return await of()
    },
  }
  const purchases = [1, 2].map(() => makeSupplierPurchase({ ...services, suppliers: counted }))
  const { id } = await world.tenant()
  const searches = [...purchases, ...purchases].map(({ available }) => available(id, 'group-0', ''))
  await all.promise
  // All four are at the limit after this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(asked, supplierRequestLimits.perKey)
  answer.resolve()
  await Promise.all(searches)
  assert.equal(asked, 4)
})
