import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { connect as open } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'

const all = join(import.meta.dirname, '../../platform/db/migrations/numbered')

test('an upgrade keeps channels and their connections, and takes verification from numbers with only a login', async () => {
  const names = readdirSync(all)
    .sort()
    .map((name) => name.replace('.sql', ''))
  const before = names.slice(
    0,
    names.findIndex((name) => name.endsWith('_number_possession')),
  )
  const { url, raw } = await testDatabase()
  await raw('create schema before')
  const db = open({ url: `${url}&options=-csearch_path%3Dbefore`, connections: 3, unlimited: true })
  after(() => db.end())
  await migrate(db, { only: before })

  const [ada, bob] = [uuid(), uuid()]
  for (const id of [ada, bob]) await db.run`insert into accounts (id, name, requests_per_minute) values (${id}, 'x', 1)`
  const connect = async (kind: string) => {
    const id = uuid()
    await db.run`insert into connections (id, kind, name, settings) values (${id}, ${kind}, ${id}, '{}')`
    return id
  }
  let numbers = 0
  const newNumber = () => `+4479110000${String(++numbers).padStart(2, '0')}`
  /** A channel with its caller ID, as the previous version made it. @returns the number */
  const channel = async (account: string, platform: string, connection: string) => {
    const [id, number] = [uuid(), newNumber()]
    await db.run`
      insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
        timezone, created_at, updated_at)
      values (${account}, ${id}, ${connection}, ${platform}, ${number}, 'x', 'GB', 'UTC', now(), now())`
    await db.run`
      insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
      values (${account}, ${id}, 'connected', 'x', now(), now())`
    await db.run`
      insert into caller_ids (account_id, id, msgapp_channel_id, phone_number, friendly_name, iso_country_code, type)
      values (${account}, ${uuid()}, ${id}, ${number}, 'x', 'GB', 'WW')`
    return number
  }
  const byCode = async (account: string, number: string) => {
    const id = uuid()
    await db.run`
      insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
      values (${account}, ${id}, ${number}, 'x', 'GB', 'CI', true)`
    await db.run`
      insert into caller_id_codes (account_id, caller_id, hash, sent_at, expires_at, day_from, day_codes)
      values (${account}, ${id}, '', now(), now(), now(), 7)`
    return number
  }

  const [sandbox, xmpp, web, own, both, unused] = await Promise.all(
    ['sandbox', 'xmpp', 'whatsapp-web', 'whatsapp-cloud', 'whatsapp-cloud', 'xmpp'].map(connect),
  )
  assert.ok(sandbox && xmpp && web && own && both && unused)
  const pinged = [
    await channel(ada, 'sandbox', sandbox),
    await channel(ada, 'xmpp', xmpp),
    await channel(ada, 'whatsapp-cloud', both),
    await channel(bob, 'whatsapp-cloud', both),
  ]
  const paired = await channel(ada, 'whatsapp-web', web)
  const listed = await channel(bob, 'whatsapp-cloud', own)
  const coded = await byCode(ada, newNumber())
  const bought = newNumber()
  await byCode(ada, bought)
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${bob}, ${uuid()}, ${bought}, 'g', 'GB', '', 'mobile', 'n', 1, 0, 'ACTIVE', 'infinity')`

  await migrate(db)

  const rows = await db.many<{ phone_number: string; verified: boolean }>`
    select phone_number, verified from caller_id_status order by phone_number`
  assert.deepEqual(
    rows.map((row) => [row.phone_number, row.verified]),
    [
      ...pinged.map((number) => [number, false]),
      ...[paired, listed, coded].map((number) => [number, true]),
      [bought, false],
    ],
  )
  const access = await db.many<{ id: string; shared: boolean; accounts: string[] }>`
    select id, shared, accounts from connections_with_accounts`
  const expected: [string, boolean, string[]][] = [
    [sandbox, true, []],
    [xmpp, false, [ada]],
    [web, false, [ada]],
    [own, false, [bob]],
    [both, false, [ada, bob].sort()],
    [unused, false, []],
  ]
  assert.deepEqual(
    new Map(access.map((one) => [one.id, [one.shared, one.accounts]])),
    new Map(expected.map(([id, ...rest]) => [id, rest])),
  )
  const codes = await db.many`select phone_number, day_codes from caller_id_codes order by phone_number`
  assert.deepEqual(codes, [
    { phone_number: coded, day_codes: 7 },
    { phone_number: bought, day_codes: 7 },
  ])
})
