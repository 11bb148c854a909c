// Measures whether the latency of lists is independent of the number of rows.
//
// The rows of one account grow from 10,000 to 1,000,000 in each table. Each figure is the median latency of a whole HTTP
// request in this process, one at a time, with its ratio to the smallest size. Requests of both sizes alternate between two
// accounts, so that load of the machine affects both.

import { issueKey, openAccount } from '../src/domains/accounts/ops.ts'
import { issueOperatorKey } from '../src/domains/operators/ops.ts'
import type { Db } from '../src/platform/db/sql.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { contact, fillLists, listedTables, type RowOwner } from '../test/list-rows.ts'
import { startServer } from '../test/servers.ts'
import { benchRun } from './bench.ts'
import { assembleInProcess } from './in-process.ts'
import { median, table } from './lib.ts'

const few = 10_000
const run = benchRun()
const many = run.number('most')
const requests = run.number('requests')

const server = await startServer()
const { db, patient, app, end } = await assembleInProcess(server.url)
const { key: operatorKey } = await db.begin((tx) => issueOperatorKey(tx, 'bench'))

type Customer = RowOwner & { readonly key: string }

/** Makes an account with a number, a channel of the messaging app and a webhook that its rows belong to. */
const customer = async (sql: Db, digit: number): Promise<Customer> => {
  const { id, key } = await sql.begin(async (tx) => {
    const id = await openAccount(tx, { name: 'Bench', requestsPerMinute: 100_000_000, sandbox: true })
    return { id, key: (await issueKey(tx, id, 'bench')).key }
  })
  const owner = { account: id, smsChannel: uuid(), chatChannel: uuid(), webhook: uuid(), group: `bench-${digit}` }
  const number = `+44770090000${digit}`
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
  return { ...owner, key }
}

/** The lists, by what is asked of them. Page 199 is the last one that page numbers reach. */
const lists = (c: Customer): readonly (readonly [name: string, url: string])[] => [
  ['call history', '/open/voip/call-history'],
  ['call history, last numbered page', '/open/voip/call-history?page_number=199'],
  ['call history, status that matches nothing', '/open/voip/call-history?status=BUSY'],
  ['call history, direction that matches nothing', '/open/voip/call-history?direction=inbound'],
  ['call history, one number called', '/open/voip/call-history?to_number=%2B447900000077'],
  ['SMS messages, with total', '/open/sms/messages?page_number=0'],
  ['SMS messages, last numbered page', '/open/sms/messages?page_number=199'],
  ['SMS messages of a channel', `/open/sms/messages?channel_uuid=SMS${c.smsChannel}`],
  ['SMS thread', `/open/sms/messages/SMS${c.smsChannel}/${encodeURIComponent(contact)}`],
  ['SMS channels, a page', '/open/sms/channels?page_number=0'],
  ['contacts', '/open/contacts'],
  ['contacts, last numbered page', '/open/contacts?page_number=199'],
  ['contacts of a channel', `/open/contacts?channel_uuid=WPN${c.chatChannel}`],
  ['conversations', `/open/msgapp/conversations/WPN${c.chatChannel}`],
  ['conversation with one number', `/open/msgapp/conversations/WPN${c.chatChannel}?phone_number=%2B447900000077`],
  ['virtual numbers', '/open/voip/virtual-numbers'],
  ['caller ids', '/open/voip/caller-ids'],
  ['documents', '/open/numbers/documents'],
  ['audit', '/open/audit'],
  ['audit, action that matches nothing', '/open/audit?action=changeAccount'],
  ['deliveries', `/open/webhooks/WHK${c.webhook}/deliveries`],
  ['deliveries, failed', `/open/webhooks/WHK${c.webhook}/deliveries?state=failed`],
  ['ledger', `/operator/accounts/ACC${c.account}/ledger`],
  ['ledger, kind that matches nothing', `/operator/accounts/ACC${c.account}/ledger?kind=credit`],
  ['users, a page', `/operator/accounts/ACC${c.account}/users?page_number=0`],
  ['users, status that matches nothing', `/operator/accounts/ACC${c.account}/users?page_number=0&status=SUSPENDED`],
  ['numbers sold', `/operator/numbers?account_uuid=ACC${c.account}`],
]

/** Sends a request that must succeed. @returns milliseconds */
const time = async (url: string, key: string): Promise<number> => {
  const headers = url.startsWith('/operator') ? { 'x-operator-key': operatorKey } : { 'x-user-api-key': key }
  const began = performance.now()
  const answer = await app.inject({ method: 'GET', url, headers })
  const passed = performance.now() - began
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${answer.payload}`)
  return passed
}

const [small, large] = [await customer(patient, 1), await customer(patient, 2)]
// Holds are calls in progress: limits bound their number.
const tables = new Set([...listedTables].filter((name) => name !== 'holds'))
await fillLists(patient, small, { from: 0, to: few, tables })
await fillLists(patient, large, { from: few, to: few + many, tables })

const rows: string[][] = []
let worst = 0
for (const [i, [name, url]] of lists(small).entries()) {
  const [, other = ''] = lists(large)[i] ?? []
  const times: [number[], number[]] = [[], []]
  const end = performance.now() + 20_000
  for (let round = -20; round < requests && performance.now() < end; round++) {
    const pair = [await time(url, small.key), await time(other, large.key)] as const
    if (round < 0) continue
    times[0].push(pair[0])
    times[1].push(pair[1])
  }
  const [one, two] = [median(times[0]), median(times[1])]
  worst = Math.max(worst, two / one)
  rows.push([name, one.toFixed(2), two.toFixed(2), (two / one).toFixed(2)])
}
table(['list', `p50 of ${few}, ms`, `p50 of ${many}, ms`, 'ratio'], rows)
run.record({ worst })

await end()
await server.stop()
