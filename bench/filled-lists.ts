import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAccount } from '../src/domains/accounts/ops.ts'
import type { Db } from '../src/platform/db/sql.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { fillLists, listedTables, type RowOwner } from '../test/list-rows.ts'
import type { Filling } from './database.ts'

/** Returns the number of the account with this digit. */
export const numberOf = (digit: number) => `+44770090000${digit}`

/** Makes an account with a number, a channel of the messaging app and a webhook that its rows belong to. */
const makeOwner = async (sql: Db, digit: number): Promise<RowOwner> => {
  const id = await sql.begin((tx) =>
    openAccount(tx, { name: `Bench ${digit}`, requestsPerMinute: 100_000_000, sandbox: true }),
  )
  const owner = { account: id, smsChannel: uuid(), chatChannel: uuid(), webhook: uuid(), group: `bench-${digit}` }
  const number = numberOf(digit)
  await sql.begin(async (tx) => {
    await tx.raw("set local session_replication_role = 'replica'")
    await tx.run`
      insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
        monthly_price, ppm, status_text, expires_at)
      values (${id}, ${owner.smsChannel}, ${number}, ${owner.group}, 'GB', '', 'local', 'a', 1, 0, 'ACTIVE', '2036-01-01')`
    await tx.run`
      insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
        supports_sms_in, supports_sms_out)
      values (${id}, ${owner.smsChannel}, ${owner.smsChannel}, ${number}, 'a', 'GB', true, true)`
    await tx.run`
      insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
        timezone, created_at, updated_at)
      values (${id}, ${owner.chatChannel}, ${uuid()}, 'sandbox', ${number}, 'a', 'GB', 'UTC', now(), now())`
    await tx.run`
      insert into msgapp_links (account_id, channel_id, phase, reason, since)
      values (${id}, ${owner.chatChannel}, 'disconnected', '', now())`
    await tx.run`
      insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
      values (${id}, ${owner.webhook}, 'contact.created', 'contact.created', 'http://127.0.0.1', '', now(), now())`
    await tx.run`
      insert into webhook_endpoint_leases (account_id, webhook_id) values (${id}, ${owner.webhook})`
  })
  return owner
}

const sources = ['filled-lists.ts', '../test/list-rows.ts'].map((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8'),
)

/** Rows of a small and a large account in the table of each list. Holds are calls in progress: limits bound their number. */
export const filledLists = (few: number, many: number): Filling => ({
  name: 'lists',
  about: `${many} rows in the table of each list`,
  version: [few, many, ...sources].join(),
  fill: async (db) => {
    const tables = new Set([...listedTables].filter((name) => name !== 'holds'))
    const [small, large] = [await makeOwner(db, 1), await makeOwner(db, 2)]
    await fillLists(db, small, { from: 0, to: few, tables })
    await fillLists(db, large, { from: few, to: few + many, tables })
  },
})
