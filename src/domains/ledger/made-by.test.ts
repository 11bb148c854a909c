import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { charge } from './ops.ts'

const world = await makeWorld()
const { call, db } = world

/** Makes a group with free numbers. */
const stock = async (id: string, numbers: readonly string[]) => {
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values (${id}, 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, 'test')`
  await db.run`insert into numbers (number, group_id, shuffle) select n, ${id}, 1 from unnest(${[...numbers]}::text[]) n`
  await db.run`insert into number_stock (group_id, free) values (${id}, ${numbers.length})`
}

test('a transfer names the member, key or operator who made it, and no key that does not exist', async () => {
  const tenant = await world.tenant({ balance: '20' })
  const olive = await claim(world, 'olive.buys@example.com')
  const mia = await member(world, tenant, 'owner')
  await call(tenant, 'PATCH', `/open/members/${mia.user}`, { first_name: 'Mia', last_name: 'Buyer' })
  await stock('made-by', ['+441632100001', '+441632100002', '+441632100003'])
  const headers = { 'x-account': tenant.uuid }
  const purchase = ['POST', '/open/numbers/purchase', { group_id: 'made-by' }] as const
  for (const bought of [
    await mia.call(...purchase, headers),
    await olive.call(...purchase, headers),
    await call(tenant, ...purchase),
  ])
    assert.equal(bought.status, 201, JSON.stringify(bought.body))
  // A key that was deleted since.
  const gone = uuid()
  await db.begin((tx) =>
    charge(tx, tenant.id, 1, 'numbers', { kind: 'number_purchase', reference: 'x', by: gone, limitedKeys: null }),
  )

  const { uuid: key } = (await call(tenant, 'GET', '/open/keys')).body.keys[0]
  const path = 'kind=number_purchase'
  const byOf = ({ body }: { body: { transfers: { made_by: object }[] } }) => body.transfers.map((one) => one.made_by)
  const [deleted, byKey] = [
    { kind: 'api_key', uuid: `KEY${gone}` },
    { kind: 'api_key', uuid: key, label: 'test' },
  ]
  const byMia = { kind: 'person', uuid: mia.user, label: 'Mia Buyer' }
  assert.deepEqual(byOf(await call(tenant, 'GET', `/open/ledger?${path}`)), [
    ...[deleted, byKey, { kind: 'operator' }, byMia],
  ])
  const own = { kind: 'operator', uuid: olive.boot.person.uuid, label: 'Olive Operator' }
  const shown = await call('operator', 'GET', `/operator/accounts/${tenant.uuid}/ledger?${path}`)
  assert.deepEqual(byOf(shown), [deleted, byKey, own, byMia])

  await call(tenant, 'PATCH', `/open/members/${mia.user}`, { status: 'DELETED' })
  assert.deepEqual(byOf(await call(tenant, 'GET', `/open/ledger?${path}`)).at(-1), byMia)
})
