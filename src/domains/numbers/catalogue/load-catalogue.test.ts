import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/database.ts'
import { readRequirements } from '../catalogue-files.ts'
import { loadCatalogue, stockSandbox } from './load-catalogue.ts'

test('the catalogue is imported once and the sandbox stocked once; new data changes no held or sold number', async (t) => {
  const db = await testDatabase()
  const began = performance.now()
  assert.equal(await loadCatalogue(db), true)
  const loaded = performance.now()
  const added = await db.begin(stockSandbox)
  const stocked = performance.now()
  t.diagnostic(`catalogue ${Math.round(loaded - began)} ms, ${added} numbers ${Math.round(stocked - loaded)} ms`)
  assert.ok(added > 50_000)
  assert.equal(await loadCatalogue(db), false)
  assert.equal(await db.begin(stockSandbox), 0)

  // As after an upgrade: other data was imported before, with a group that no longer exists and without one number.
  await db.run`update installation_state set value = '{"version": "older"}' where name in ('catalogue', 'sandbox-stock')`
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('gone', 'GB', 'local', '1', 'Gone', 'gone', 1, 1, 0, true, false, 'sandbox')`
  await db.run`update number_groups set monthly_price = 9 where id = 'GB-local-20-london'`
  const taken = await db.one<{ number: string }>`
    update numbers set state = 'withdrawn'
    where number = (select min(number) from numbers where group_id = 'GB-local-20-london') returning number`
  await db.run`delete from numbers where number = (select max(number) from numbers where group_id = 'GB-local-20-london')`
  await db.run`delete from number_requirements where iso_country_code = 'DE'`
  await db.run`update number_requirements set description = 'Older.', id = id + 1000 where iso_country_code = 'FR'`
  assert.equal(await loadCatalogue(db), true)
  const rows = await db.many<{ [key: string]: unknown }>`
    select id, iso_country_code, type, kind, description, documents from number_requirements order by id`
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    readRequirements().map((row) => row.slice(0, 6)),
  )
  assert.equal(await db.begin(stockSandbox), 1)
  const group = await db.one`
    select g.monthly_price, s.free, n.state, (select offered from number_groups where id = 'gone') as offered
    from number_groups g join number_stock s on s.group_id = g.id join numbers n on n.number = ${taken.number}
    where g.id = 'GB-local-20-london'`
  assert.deepEqual(group, { monthly_price: '9.000000', free: 29, state: 'withdrawn', offered: false })
})
