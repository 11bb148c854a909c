// Measures whether the latency of lists is independent of the number of rows.
//
// The rows of one account grow from 10,000 to 1,000,000 in each table. Each figure is the median latency of a whole HTTP
// request in this process, one at a time, with its ratio to the smallest size. Requests of both sizes alternate between two
// accounts, so that load of the machine affects both.

import { issueKey } from '../src/domains/accounts/ops.ts'
import { issueOperatorKey } from '../src/domains/operators/ops.ts'
import type { Db } from '../src/platform/db/sql.ts'
import { contact, type RowOwner } from '../test/list-rows.ts'
import { benchRun } from './bench.ts'
import { startDatabase } from './database.ts'
import { filledLists, numberOf } from './filled-lists.ts'
import { assembleInProcess } from './in-process.ts'
import { median, table } from './lib.ts'

const few = 10_000
const run = benchRun()
const many = run.number('most')
const requests = run.number('requests')

type Customer = RowOwner & { readonly key: string; readonly number: string }

/** Returns an account of the filling, with a new key. */
const readCustomer = async (db: Db, digit: number): Promise<Customer> => {
  const number = numberOf(digit)
  const owner = await db.one<Omit<RowOwner, 'group'>>`
    select a.id as account, s.id as "smsChannel", m.id as "chatChannel", w.id as webhook
    from accounts a
    join sms_channels s on s.account_id = a.id and s.phone_number = ${number}
    join msgapp_channels m on m.account_id = a.id and m.phone_number = ${number}
    join webhooks w on w.account_id = a.id
    where a.name = ${`Bench ${digit}`}`
  const { key } = await db.begin((tx) => issueKey(tx, owner.account, 'bench'))
  return { ...owner, group: `bench-${digit}`, key, number }
}

const server = await startDatabase(filledLists(few, many))
const { db, app, end } = await assembleInProcess(server.url)
const { key: operatorKey } = await db.begin((tx) => issueOperatorKey(tx, 'bench'))

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
  ['SMS messages, outbound', '/open/sms/messages?direction=outbound'],
  ['SMS messages, inbound, of which there are none', '/open/sms/messages?direction=inbound'],
  ['SMS messages, a common status', '/open/sms/messages?status=delivered'],
  ['SMS messages, a status that matches nothing', '/open/sms/messages?status=sent'],
  ['SMS messages, failed', '/open/sms/messages?status=failed'],
  ['SMS thread', `/open/sms/messages/SMS${c.smsChannel}/${encodeURIComponent(contact)}`],
  ['SMS channels, a page', '/open/sms/channels?page_number=0'],
  ['contacts', '/open/contacts'],
  ['contacts, last numbered page', '/open/contacts?page_number=199'],
  ['contacts of a channel', `/open/contacts?channel_uuid=WPN${c.chatChannel}`],
  ['conversations', `/open/msgapp/conversations/WPN${c.chatChannel}`],
  ['conversation with one number', `/open/msgapp/conversations/WPN${c.chatChannel}?phone_number=%2B447900000077`],
  ['messages of a chat number', `/open/msgapp/messages/${encodeURIComponent(c.number)}`],
  ['chat groups, a page', `/open/msgapp/groups/${encodeURIComponent(c.number)}?per_page=50`],
  ['inbox, open', '/open/conversations?status=open'],
  ['inbox, closed', '/open/conversations?status=closed'],
  ['inbox, all counts', '/open/conversations/counts'],
  ['requests', '/open/requests'],
  ['requests, status that matches nothing', '/open/requests?status=404'],
  ['events', '/open/events'],
  ['events, name that matches nothing', '/open/events?name=number.purchased'],
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

const [small, large] = [await readCustomer(db, 1), await readCustomer(db, 2)]

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
