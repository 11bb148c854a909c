import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { charge, hold } from './ops.ts'
import type { TransferKind } from './transfer-kinds.ts'

const { call, db, tenant } = await makeWorld()

type Transfer = { uuid: string; kind: TransferKind; change: string; item?: object; made_by?: object }

const ledgerOf = async (who: Awaited<ReturnType<typeof tenant>>, query = ''): Promise<Transfer[]> =>
  (await call(who, 'GET', `/open/ledger?${query}`)).body.transfers

test('the ledger of an account links each transfer to what it paid for, and hides the keys of operators', async () => {
  const who = await tenant({ balance: '10' })
  const [message, callId, did, number] = [`SMO${uuid()}`, `CDR${uuid()}`, uuid(), '+441632990001']
  const owned = (id: string, released: string | null) => db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at, released_at)
    values (${who.id}, ${id}, ${number}, 'g', 'GB', '', 'local', 'n', 1, 0,
      ${released === null ? 'ACTIVE' : 'RELEASED'}, 'infinity', ${released})`
  // The account had the number before, and gave it back.
  await owned(uuid(), '2020-01-01T00:00:00Z')
  await owned(did, null)
  const pay = (kind: TransferKind, book: 'sms' | 'numbers', reference: string) =>
    db.begin((tx) => charge(tx, who.id, 40_000, book, { kind, reference, limitedKeys: null }))
  await pay('sms', 'sms', message)
  await pay('number_month', 'numbers', number)
  await pay('number_purchase', 'numbers', 'GB-local-20')
  await db.begin((tx) => hold(tx, who.id, 500_000, 'calls', { kind: 'call', reference: callId, limitedKeys: null }))
  const { body } = await call('operator', 'POST', `/operator/accounts/${who.uuid}/corrections`, {
    ...{ amount: '-0.5', reason: 'twice', transfer_uuid: (await ledgerOf(who, 'kind=credit'))[0]?.uuid },
  })
  assert.equal(body.success, true)
  const [correction, held, bought, month, sms, credit] = await ledgerOf(who)
  assert.deepEqual(correction?.item, { kind: 'transfer', uuid: credit?.uuid })
  assert.deepEqual(correction?.made_by, { kind: 'operator' })
  assert.deepEqual([held?.kind, held?.change, held?.item], ['hold', '-0.50', { kind: 'call', uuid: callId }])
  assert.deepEqual(bought?.item, { kind: 'number' })
  assert.deepEqual(month?.item, { kind: 'number', uuid: `DID${did}`, number })
  assert.deepEqual([sms?.change, sms?.item], ['-0.04', { kind: 'message', uuid: message }])
  assert.deepEqual([credit?.change, credit?.item], ['10.00', undefined])

  const { holds, held: sum } = (await call(who, 'GET', '/open/holds?kind=call')).body
  assert.deepEqual([sum, holds.length, holds[0].item], ['0.50', 1, { kind: 'call', uuid: callId }])
  for (const query of ['kind=sms', 'since=2999-01-01T00:00:00Z', 'until=2000-01-01T00:00:00Z'])
    assert.equal((await call(who, 'GET', `/open/holds?${query}`)).body.count, 0, query)
})

test('the filters and pages of the ledger return each transfer once, in order', async () => {
  const who = await tenant({ balance: '10' })
  for (const kind of ['sms', 'sms_in', 'sms', 'sms_in', 'sms'] as const)
    await db.begin((tx) => charge(tx, who.id, 10_000, 'sms', { kind, reference: `SMO${uuid()}`, limitedKeys: null }))
  const all = await ledgerOf(who)
  const seen: Transfer[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { body } = await call(who, 'GET', `/open/ledger?results_per_page=2${cursor ? `&cursor=${cursor}` : ''}`)
    seen.push(...body.transfers)
    cursor = body.next_cursor
  }
  assert.deepEqual(seen, all)
  assert.deepEqual(
    (await ledgerOf(who, 'kind=sms_in')).map(({ uuid }) => uuid),
    all.filter(({ kind }) => kind === 'sms_in').map(({ uuid }) => uuid),
  )
  assert.equal((await ledgerOf(who, 'until=2000-01-01T00:00:00Z')).length, 0)
  assert.equal((await ledgerOf(who, 'since=2000-01-01T00:00:00Z')).length, all.length)
})

test('an account changes its name and its limit for balance.low, and nothing else', async () => {
  const who = await tenant()
  const change = (body: object, key = who.key) => call({ ...who, key }, 'PATCH', '/open/account', body)
  const { account } = (await change({ name: 'Acme', low_balance: '7.5', blocked: true, requests_per_minute: 1 })).body
  assert.deepEqual([account.name, account.low_balance, account.blocked], ['Acme', '7.50', undefined])
  const info = (await call(who, 'GET', '/open/info')).body
  assert.deepEqual([info.account.name, info.account.blocked, info.balance.low_balance], ['Acme', false, '7.50'])
  assert.equal((await change({ low_balance: null })).body.account.low_balance, undefined)
  assert.equal((await change({})).body.account.name, 'Acme')
  const { acts } = (await call(who, 'GET', '/open/audit?action=changeOwnAccount')).body
  assert.deepEqual(
    acts.at(-1).changes.filter(({ field }: { field: string }) => field === 'low_balance'),
    [{ field: 'low_balance', before: '5.00', after: '7.50' }],
  )
  const { key } = (await call(who, 'POST', '/open/keys', { label: 'k', scopes: ['money', 'read_only'] })).body
  assert.equal((await change({ name: 'x' }, key)).body.error_code, 'scope_missing')
})
