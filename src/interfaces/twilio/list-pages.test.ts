import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contact, giveNumber } from '../../domains/sms/sms-testing.ts'
import { uuid } from '../../platform/lib/id.ts'
import { printSid } from '../../platform/lib/sid.ts'
import { makeTwilioWorld, stockNumbers } from './testing.ts'

const world = await makeTwilioWorld()
const { ask, credentials, db, tenant } = world
const stocked = await stockNumbers(world, { iso: 'GB', name: 'United Kingdom', code: '44', area: '1632' }, 3)

/** An account with three rows of each list. */
const open = async () => {
  const who = await tenant({ balance: '100' })
  const own = await credentials(who)
  const parent = uuid()
  const ids = [uuid(), uuid(), uuid()]
  // In one statement, so that the rows share their time, and the ids order them.
  await db.run`
    insert into calls (account_id, id, parent_id, callid, direction, to_number, iso_country_code, status, is_msgapp,
      is_trunk, caller_id_used, toll_free, rate, ended_at, recorded_at)
    select ${who.id}, id, ${parent}, id, 'O', '+442079460123', 'GB', 'COMPLETED', false, true, '+442079460199', false, 0,
      app_now(), app_now()
    from unnest(${ids}::uuid[]) id`
  await db.run`
    insert into call_recordings (account_id, id, call_id, seconds, bytes, sha256, ready_at)
    select ${who.id}, id, ${ids[0] ?? ''}, 1, 1, '', app_now() from unnest(${ids}::uuid[]) id`
  await db.run`
    insert into call_applications (account_id, id, name, url, sealed_secret)
    select ${who.id}, id, 'Menu', 'https://example.com/menu', '' from unnest(${ids}::uuid[]) id`
  const { number } = await giveNumber(world, who)
  for (const Body of ['one', 'two', 'three'])
    await ask(own, 'POST', '/Messages.json', { To: contact, From: number, Body })
  for (const PhoneNumber of stocked) await ask(own, 'POST', '/IncomingPhoneNumbers.json', { PhoneNumber })
  return { own, parent: printSid('CA', parent), call: printSid('CA', ids[0] ?? '') }
}

const { own, parent, call } = await open()

// Streams have no list, as in Twilio's interface.
const lists: readonly { readonly path: string; readonly rows: string; readonly query?: Record<string, string> }[] = [
  { path: '/Calls', rows: 'calls' },
  { path: '/Calls', rows: 'calls', query: { ParentCallSid: parent } },
  { path: '/Recordings', rows: 'recordings' },
  { path: `/Calls/${call}/Recordings`, rows: 'recordings' },
  { path: '/Applications', rows: 'applications', query: { FriendlyName: 'Menu' } },
  { path: '/IncomingPhoneNumbers', rows: 'incoming_phone_numbers' },
  { path: '/Messages', rows: 'messages', query: { To: contact } },
]

for (const { path, rows, query = {} } of lists) {
  const filters = new URLSearchParams(query)
  test(`the list ${path}${filters.size > 0 ? ` with ${filters.keys().next().value}` : ''} has pages of the asked size`, async () => {
    const read = async (address: string, fields = {}) => {
      const { status, body } = await ask(own, 'GET', address, fields)
      assert.equal(status, 200, JSON.stringify(body))
      return { ...body, sids: body[rows].map(({ sid }: { sid: string }) => sid) }
    }
    const whole = await read(`${path}.json`, query)
    assert.ok(whole.sids.length >= 3)
    assert.deepEqual([whole.page, whole.page_size, whole.next_page_uri], [0, 50, null])
    const sids: string[] = []
    const pages: unknown[] = []
    let next: string | null = `${path}.json?${new URLSearchParams({ ...query, PageSize: '2' })}`
    while (next !== null) {
      const body: Awaited<ReturnType<typeof read>> = await read(next)
      pages.push([body.page, body.page_size, body.start, body.end, body.sids.length])
      sids.push(...body.sids)
      for (const [name, value] of filters)
        assert.equal(new URL(body.first_page_uri, 'http://x').searchParams.get(name), value)
      next = body.next_page_uri?.slice(`/2010-04-01/Accounts/${own.sid}`.length) ?? null
    }
    assert.deepEqual(sids, whole.sids)
    const count = whole.sids.length
    assert.deepEqual(pages, [
      [0, 2, 0, 1, 2],
      [1, 2, 2, count - 1, count - 2],
    ])
    const falseToken = await ask(own, 'GET', `${path}.json`, { ...query, PageToken: 'PAx' })
    assert.deepEqual([falseToken.status, falseToken.body.code], [400, 20001])
  })
}
