import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { loadCatalogue } from '../catalogue/load-catalogue.ts'

const world = await makeWorld()
await loadCatalogue(world.db)
const { db, call } = world

let serial = 10_000
/** Creates free numbers in a new group of the operator's own. */
const stocked = async (name: string, size: number): Promise<{ group: string; numbers: string[] }> => {
  const numbers = Array.from({ length: size }, () => `+4420794${serial++}`)
  const answer = await world.app.inject({
    method: 'POST',
    url: '/operator/inventory/import',
    headers: { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' },
    payload: `number,country,type,group,monthly_price\n${numbers.map((n) => `${n},GB,local,${name},1`).join('\n')}`,
  })
  assert.equal(answer.statusCode, 201, answer.body)
  const { group_id } = await db.one<{
    group_id: string
  }>`select group_id from numbers where number = ${numbers[0] ?? ''}`
  return { group: group_id, numbers }
}
const free = async (group: string) =>
  (await db.one<{ free: number }>`select free from number_stock where group_id = ${group}`).free
const buy = (who: Awaited<ReturnType<typeof world.tenant>>, body: object) =>
  call(who, 'POST', '/open/numbers/purchase', body)

type Row = { number: string; state: string; account_uuid?: string }

test('the inventory is listed page by page, by state, group, country and prefix', async () => {
  const ada = await world.tenant()
  const { group, numbers } = await stocked('Listed', 7)
  await buy(ada, { number: numbers[2] })
  const seen: Row[] = []
  let cursor = ''
  for (let pages = 0; pages < 3; pages++) {
    const query = `group_id=${group}&results_per_page=3${cursor}`
    const { body } = await call('operator', 'GET', `/operator/inventory?${query}`)
    seen.push(...body.numbers)
    assert.equal(body.count, body.numbers.length)
    assert.equal('next_cursor' in body, pages < 2)
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(
    seen.map(({ number }) => number),
    numbers,
  )
  assert.deepEqual([seen[2]?.state, seen[2]?.account_uuid], ['owned', ada.uuid])
  const listed = async (query: string): Promise<Row[]> =>
    (await call('operator', 'GET', `/operator/inventory?${query}`)).body.numbers
  assert.deepEqual(
    (await listed(`group_id=${group}&state=owned`)).map(({ number }) => number),
    [numbers[2]],
  )
  assert.deepEqual(
    (await listed(`prefix=${numbers[0]?.slice(1)}`)).map(({ number }) => number),
    [numbers[0]],
  )
  assert.deepEqual(await listed('prefix=%2B4930'), [])
  assert.deepEqual(await listed('country=DE'), [])
  assert.equal((await listed('country=gb&results_per_page=5')).length, 5)
  assert.equal((await call('operator', 'GET', '/operator/inventory?cursor=odd')).status, 400)
})

test('a page of free numbers examines 20,000 numbers, and its cursor continues behind them', async () => {
  const { group, numbers } = await stocked('Far', 1)
  // More owned numbers than a page examines, before the free one.
  await db.begin(async (tx) => {
    await tx.raw("set local session_replication_role = 'replica'")
    await tx.run`
      insert into numbers (number, group_id, state, shuffle, account_id)
      select '+44100' || lpad(n::text, 6, '0'), ${group}, 'owned', n, gen_random_uuid() from generate_series(1, 25000) n`
  })
  for (const filter of [`group_id=${group}`, 'prefix=44', 'prefix=44&country=GB']) {
    const path = `/operator/inventory?state=free&results_per_page=1&${filter}`
    const first = (await call('operator', 'GET', path)).body
    assert.deepEqual(first.numbers, [])
    const { body } = await call('operator', 'GET', `${path}&cursor=${first.next_cursor}`)
    assert.deepEqual([body.count, body.numbers[0].state], [1, 'free'], filter)
    if (filter.startsWith('group'))
      assert.deepEqual([body.numbers[0].number, body.next_cursor], [numbers[0], undefined])
  }
  await db.run`delete from numbers where number like '+44100%' and group_id = ${group}`
})

test('free numbers are withdrawn at once and restored; the others are refused with a reason', async () => {
  const ada = await world.tenant()
  const { group, numbers } = await stocked('Withdrawn', 5)
  const [one = '', two = '', bought = '', held = '', resting = ''] = numbers
  await buy(ada, { number: bought })
  await call(ada, 'POST', '/open/numbers/reservations', { group_id: group, number: held })
  const { body } = await buy(ada, { number: resting })
  await call(ada, 'DELETE', `/open/voip/virtual-numbers/${body.data.numbers[0].uuid}`)

  const named = [...numbers, one, '+442079499999']
  const withdrawn = await call('operator', 'POST', '/operator/inventory/withdraw', { numbers: named })
  assert.equal(withdrawn.status, 200)
  assert.equal(withdrawn.body.withdrawn, 3)
  assert.deepEqual(
    withdrawn.body.refused.map(({ number, reason }: { number: string; reason: string }) => [
      number,
      reason.slice(0, 15),
    ]),
    [
      [bought, 'an account owns'],
      [held, 'an account has '],
      ['+442079499999', 'it is not in th'],
    ],
  )
  assert.equal(await free(group), 0)
  assert.equal((await buy(ada, { number: one })).status, 409)
  assert.equal((await buy(ada, { group_id: group, number: two })).status, 409)

  const restored = await call('operator', 'POST', '/operator/inventory/restore', { numbers: [one, two, bought] })
  assert.deepEqual([restored.body.restored, restored.body.refused.length], [2, 1])
  assert.equal(await free(group), 2)
  assert.equal((await buy(ada, { number: one })).status, 201)
})

test('a whole group is withdrawn and restored, except for held and owned numbers', async () => {
  const ada = await world.tenant()
  const { group } = await stocked('Whole', 30)
  await buy(ada, { group_id: group })
  const all = (what: string) => call('operator', 'POST', `/operator/inventory/${what}`, { group_id: group })
  assert.equal((await all('withdraw')).body.withdrawn, 29)
  assert.equal((await buy(ada, { group_id: group })).status, 409)
  assert.equal((await all('withdraw')).body.withdrawn, 0)
  assert.equal((await all('restore')).body.restored, 29)
  assert.equal(await free(group), 29)
  assert.equal((await call('operator', 'POST', '/operator/inventory/withdraw', {})).status, 400)
})

test('an individually withdrawn number stays withdrawn when its group is restored', async () => {
  const { group, numbers } = await stocked('Single', 5)
  const [alone = '', back = ''] = numbers
  const act = (what: string, body: object) => call('operator', 'POST', `/operator/inventory/${what}`, body)
  assert.equal((await act('withdraw', { numbers: [alone, back] })).body.withdrawn, 2)
  assert.equal((await act('restore', { numbers: [back] })).body.restored, 1)
  assert.equal((await act('withdraw', { group_id: group })).body.withdrawn, 4)
  assert.equal((await act('restore', { group_id: group })).body.restored, 4)
  assert.equal(await free(group), 4)
  const { state } = await db.one<{ state: string }>`select state from numbers where number = ${alone}`
  assert.equal(state, 'withdrawn')
  assert.equal((await act('restore', { numbers: [alone] })).body.restored, 1)
  assert.equal(await free(group), 5)
})

test('while customers buy, a withdrawal leaves no number in two states, and the counts are right', async () => {
  const ada = await world.tenant({ balance: '1000' })
  const { group, numbers } = await stocked('Raced', 40)
  const [withdrawn, ...bought] = await Promise.all([
    call('operator', 'POST', '/operator/inventory/withdraw', { numbers: numbers.slice(0, 20) }),
    ...Array.from({ length: 25 }, () => buy(ada, { group_id: group })),
  ])
  assert.equal(withdrawn.status, 200)
  const states = await db.many<{ state: string; count: number }>`
    select state, count(*) from numbers where group_id = ${group} group by state`
  const count = (state: string) => states.find((row) => row.state === state)?.count ?? 0
  assert.equal(count('withdrawn'), withdrawn.body.withdrawn)
  assert.equal(count('owned'), bought.filter(({ status }) => status === 201).length)
  assert.equal(await free(group), count('free'))
})

test('a suspended number sends nothing until it is reinstated, and its owner sees the reason', async () => {
  const ada = await world.tenant()
  const { numbers } = await stocked('Suspended', 2)
  const [number = ''] = numbers
  const { uuid } = (await buy(ada, { number })).body.data.numbers[0]
  const act = (what: string, body?: object) => call('operator', 'POST', `/operator/numbers/${uuid}/${what}`, body)
  const { status, body } = await act('suspend', { reason: 'complaints' })
  assert.deepEqual([status, body.number.status_text], [200, 'SUSPENDED'])
  assert.equal((await act('suspend', { reason: 'again' })).status, 409)
  const events = await db.many<{ name: string; payload: { reason: string; uuid: string } }>`
    select name, payload from events where account_id = ${ada.id} and name = 'number.suspended'`
  assert.deepEqual(
    events.map(({ payload }) => [payload.uuid, payload.reason]),
    [[uuid, 'complaints']],
  )
  const text = { from_number: number, to_number: '+447700900123', text: 'hello' }
  await call('operator', 'PUT', '/operator/prices', { prices: [{ kind: 'sms_out', prefix: '', price: '0.05' }] })
  // Other processes learn of both within a second.
  await until(async () => (await call(ada, 'POST', '/open/sms/send', text)).body.error_code === 'number_suspended')
  const listed = await call('operator', 'GET', '/operator/numbers?status_text=SUSPENDED')
  assert.deepEqual(
    listed.body.numbers.map((row: Record<string, unknown>) => [row.uuid, row.suspended_for]),
    [[uuid, 'complaints']],
  )
  assert.equal((await act('reinstate')).body.number.status_text, 'ACTIVE')
  assert.equal((await act('reinstate')).status, 409)
})

test('sold numbers of all accounts are listed with their owners, those bought last first', async () => {
  const [ada, bob] = [await world.tenant(), await world.tenant()]
  const { numbers } = await stocked('Sold', 4)
  for (const [i, number] of numbers.entries()) await buy(i % 2 ? ada : bob, { number })
  const first = (await call('operator', 'GET', '/operator/numbers?prefix=44207&results_per_page=3')).body
  assert.deepEqual(
    first.numbers.map((row: Record<string, unknown>) => [row.phone_number, row.account_uuid]),
    [
      [numbers[3], ada.uuid],
      [numbers[2], bob.uuid],
      [numbers[1], ada.uuid],
    ],
  )
  const next = await call('operator', 'GET', `/operator/numbers?results_per_page=1&cursor=${first.next_cursor}`)
  assert.equal(next.body.numbers[0].phone_number, numbers[0])
  const hers = await call('operator', 'GET', `/operator/numbers?account_uuid=${ada.uuid}`)
  assert.equal(hers.body.count, 2)
})
