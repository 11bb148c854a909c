import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../../../platform/jobs/job-testing.ts'
import { openShop } from '../testing.ts'

let shop: Awaited<ReturnType<typeof openShop>>
before(async () => {
  shop = await openShop()
  shop.work()
})
after(() => shop.close())

type Row = { [key: string]: unknown }
type Customer = Awaited<ReturnType<typeof shop.customer>>

const buy = (customer: Customer, body: object) => customer.call('POST', '/open/numbers/purchase', body)
const reserve = (customer: Customer, body: object) => customer.call('POST', '/open/numbers/reservations', body)
const listed = async (customer: Customer) =>
  (await customer.call('GET', '/open/voip/virtual-numbers')).body.numbers as Row[]
const reserved = async (customer: Customer) =>
  ((await customer.call('GET', '/open/numbers/reservations')).body.data as { reservations: Row[] }).reservations
const details = (answer: { body: Row }) => (answer.body.data as { reservation_details: Row }).reservation_details
const free = async (group: string) =>
  (await shop.db.one<{ free: number }>`select free from number_stock where group_id = ${group}`).free

test('a bought number is charged, listed, and has its SMS channel and its caller id', async () => {
  const ada = await shop.customer()
  const [number] = await shop.group('one', 1)
  const { status, body } = await buy(ada, { group_id: 'one', friendly_name: 'Sales' })
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual([body.purchased, body.failed], [[number], []])
  const [row] = await listed(ada)
  assert.deepEqual(row, (body.data as { numbers: Row[] }).numbers[0])
  assert.match(String(row?.uuid), /^DID/)
  assert.deepEqual(
    [
      row?.phone_number,
      row?.friendly_name,
      row?.status,
      row?.status_text,
      row?.emoji,
      row?.ivr_uuid,
      row?.inbound_user_uuid,
    ],
    [number, 'Sales', 1, 'ACTIVE', '🇬🇧', null, null],
  )
  assert.equal(await ada.balance(), '97.500000')
  const transfers = await shop.db
    .many<Row>`select kind, reference, amount, made_by from transfers where account_id = ${ada.id} and debit = 'balance'`
  const { id: made_by } = await shop.db.one<Row>`select id from api_keys where account_id = ${ada.id}`
  assert.deepEqual(transfers, [{ kind: 'number_purchase', reference: number, amount: '2.500000', made_by }])
  const [channel] = (await ada.call('GET', '/open/sms/channels')).body.channels as Row[]
  assert.deepEqual(
    [
      channel?.phone_number,
      channel?.voip_number_setup_uuid,
      channel?.friendly_name,
      channel?.supports_sms_in,
      channel?.supports_sms_out,
    ],
    [number, row?.uuid, 'Sales', true, true],
  )
  const callerIds = await shop.db
    .many<Row>`select phone_number, type, verified from caller_ids where account_id = ${ada.id}`
  assert.deepEqual(callerIds, [{ phone_number: number, type: 'VN', verified: true }])
})

test('a number takes the time zone of its group, else of its country', async () => {
  const ada = await shop.customer('1000')
  await shop.group('timeless', 1, 'JP')
  for (const [group_id, zone] of [
    ['US-local-213-los-angeles', 'America/Los_Angeles'],
    ['BR-local-11-sao-paulo', 'America/Sao_Paulo'],
    ['timeless', 'Asia/Tokyo'],
  ])
    assert.equal(((await buy(ada, { group_id })).body.data as { numbers: Row[] }).numbers[0]?.timezone, zone)
})

test('a number with requirements awaits registration; one without is active', async () => {
  const ada = await shop.customer()
  for (const [group_id, status] of [
    ['DE-local-30-berlin', 'AWAITING_REGISTRATION'],
    ['GB-local-20-london', 'ACTIVE'],
  ]) {
    const { status: code, body } = await buy(ada, { group_id })
    assert.equal(code, 201, JSON.stringify(body))
    assert.equal((body.data as { numbers: Row[] }).numbers[0]?.status_text, status)
  }
  const open = await shop.db.one`
    select count(*) as open, min(due_at - created_at)::text as days from registrations where account_id = ${ada.id}`
  assert.deepEqual(open, { open: 1, days: '30 days' })
})

test('a US number has no SMS channel', async () => {
  const ada = await shop.customer()
  assert.equal((await buy(ada, { group_id: 'US-local-213-los-angeles' })).status, 201)
  assert.deepEqual((await ada.call('GET', '/open/sms/channels')).body.channels, [])
})

test('200 callers on 50 numbers: 50 buy distinct numbers, and 50 are charged', async () => {
  const numbers = await shop.group('rush', 50)
  const customers = await Promise.all(Array.from({ length: 8 }, () => shop.customer('1000')))
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      const customer = customers[i % customers.length]
      assert.ok(customer)
      return buy(customer, { group_id: 'rush' })
    }),
  )
  const won = answers.filter(({ status }) => status === 201).flatMap(({ body }) => body.purchased as string[])
  assert.equal(answers.filter(({ status }) => status === 409).length, 150)
  assert.deepEqual([...won].sort(), [...numbers].sort())
  const charges = await shop.db
    .many<Row>`select reference from transfers where kind = 'number_purchase' and reference = any(${numbers}::text[])`
  assert.deepEqual(charges.map((row) => row.reference).sort(), [...numbers].sort())
  assert.equal(await free('rush'), 0)
})

test('one of several concurrent buyers gets a number', async () => {
  const [number = ''] = await shop.group('same', 3)
  // Each is another account: the holder of a reservation may buy its number too.
  const customers = await Promise.all(Array.from({ length: 20 }, () => shop.customer()))
  const answers = await Promise.all(
    customers.map((one, i) => (i % 2 ? buy(one, { number }) : reserve(one, { group_id: 'same', number }))),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)])
})

test('a buyer waits for a number that another buyer may fail to pay for', async () => {
  const ada = await shop.customer()
  const [number = ''] = await shop.group('contested', 1)
  let answer: ReturnType<typeof buy> | undefined
  await shop.db.begin(async (tx) => {
    await tx.run`select from numbers where number = ${number} for update`
    answer = buy(ada, { group_id: 'contested' })
    const waiting = async () =>
      (await shop.db
        .maybe`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`) !== null
    await until('the buyer waits', waiting, 2000)
  })
  assert.equal((await answer)?.status, 201)
})

test('a bought number rings the user that the request names; by default, no user', async () => {
  const [ada, eve] = [await shop.customer(), await shop.customer()]
  await shop.group('rings', 3)
  const addUser = async (account: string, status: string) => {
    const { id } = await shop.db.one<{ id: string }>`
      insert into users (account_id, id, first_name, last_name, email, status)
      values (${account}, gen_random_uuid(), 'A', 'B', 'a@example.com', ${status}) returning id`
    return `USR${id}`
  }
  const user = await addUser(ada.id, 'ACTIVE')
  const bought = await buy(ada, { group_id: 'rings', inbound_user_uuid: user })
  assert.equal(bought.status, 201, JSON.stringify(bought.body))
  assert.equal((await buy(ada, { group_id: 'rings', inbound_user_uuid: null })).status, 201)
  assert.deepEqual(
    (await listed(ada)).map((row) => row.inbound_user_uuid),
    [user, null],
  )
  for (const other of [await addUser(ada.id, 'SUSPENDED'), await addUser(eve.id, 'ACTIVE'), `USR${eve.id}`]) {
    const { status, body } = await buy(ada, { group_id: 'rings', inbound_user_uuid: other })
    assert.equal(status, 404)
    assert.match(JSON.stringify(body), new RegExp(`There is no active user ${other}`))
  }
  assert.equal(await free('rings'), 1)
})

test('a purchase without balance is 402 and changes nothing', async () => {
  const poor = await shop.customer('2.49')
  await shop.group('dear', 1)
  const { status, body } = await buy(poor, { group_id: 'dear' })
  assert.deepEqual([status, body.error_code], [402, 'insufficient_balance'])
  assert.deepEqual(await listed(poor), [])
  assert.deepEqual([await poor.balance(), await free('dear')], ['2.490000', 1])
})

test('an unknown number is 404, a taken one 409, a malformed one 422', async () => {
  const ada = await shop.customer()
  const [number] = await shop.group('odd', 1)
  assert.equal((await buy(ada, { group_id: 'nowhere' })).status, 404)
  assert.equal((await reserve(ada, { group_id: 'nowhere' })).status, 404)
  assert.equal((await buy(ada, { number: '+442079460000' })).status, 409)
  assert.equal((await buy(ada, { group_id: 'rush', number })).status, 409)
  assert.equal((await buy(ada, {})).status, 409)
  assert.equal((await buy(ada, { number: 'seven' })).status, 422)
})

test('a reservation holds its number for its account alone, and purchase uses it', async () => {
  const [ada, bob] = [await shop.customer(), await shop.customer()]
  const [number] = await shop.group('held', 1)
  const answer = await reserve(ada, { group_id: 'held' })
  assert.equal(answer.status, 201)
  const reservation = details(answer)
  assert.equal(reservation.number, number)
  assert.equal(Date.parse(String(reservation.expires_at)) - Date.parse(String(reservation.created_at)), 30 * 60_000)
  assert.deepEqual(
    (await reserved(ada)).map((row) => [row.uuid, row.number, row.did_group_id, row.setup_price]),
    [[reservation.uuid, number, 'held', 1]],
  )
  assert.deepEqual(await reserved(bob), [])
  for (const customer of [ada, bob]) assert.equal((await reserve(customer, { group_id: 'held', number })).status, 409)
  assert.equal((await buy(bob, { number })).status, 409)
  assert.equal((await buy(bob, { group_id: 'held' })).status, 409)
  assert.equal((await bob.call('DELETE', `/open/numbers/reservations/${reservation.uuid}`)).status, 404)
  assert.deepEqual((await buy(ada, { group_id: 'held' })).body.purchased, [number])
  assert.deepEqual(await reserved(ada), [])
  assert.equal((await ada.call('DELETE', `/open/numbers/reservations/${reservation.uuid}`)).status, 409)
})

test('purchase with neither group nor number buys all reserved numbers that the balance covers', async () => {
  const ada = await shop.customer('6')
  await shop.group('all', 3)
  for (let i = 0; i < 3; i++) assert.equal((await reserve(ada, { group_id: 'all' })).status, 201)
  const { status, body } = await buy(ada, {})
  assert.equal(status, 201)
  assert.deepEqual([(body.purchased as []).length, (body.failed as []).length], [2, 1])
  assert.deepEqual(
    (await reserved(ada)).map((row) => row.number),
    body.failed,
  )
})

test('a purchase that misspells its selection is refused and buys nothing; one without a body buys every reservation', async () => {
  const ada = await shop.customer('20')
  await shop.group('typo', 4)
  for (let i = 0; i < 2; i++) assert.equal((await reserve(ada, { group_id: 'typo' })).status, 201)
  for (const body of [{ nubmer: '+447700900001' }, { groupid: 'typo', x: 1 }, { friendly_name: 'Desk', nubmer: '1' }]) {
    const { status, body: refused } = await buy(ada, body)
    assert.deepEqual([status, refused.error_code], [400, 'invalid_request'])
    assert.match(
      String(refused.error_message),
      /There is no field (nubmer; did you mean number|groupid; did you mean group_id)/,
    )
  }
  assert.deepEqual([(await listed(ada)).length, (await reserved(ada)).length], [0, 2])
  const all = await ada.call('POST', '/open/numbers/purchase')
  assert.deepEqual([all.status, (all.body.purchased as []).length], [201, 2])
  // Elsewhere unknown fields are ignored.
  assert.equal((await buy(ada, { group_id: 'typo', x: 1 })).status, 201)
})

test('a cancelled reservation frees its number at once, once', async () => {
  const ada = await shop.customer()
  await shop.group('back', 1)
  const url = `/open/numbers/reservations/${details(await reserve(ada, { group_id: 'back' })).uuid}`
  assert.equal(await free('back'), 0)
  const { status, body } = await ada.call('DELETE', url)
  assert.deepEqual([status, body.success, typeof body.message], [200, true, 'string'])
  assert.equal(await free('back'), 1)
  // The same number again: the old reservation must not end the new one.
  assert.equal((await reserve(ada, { group_id: 'back' })).status, 201)
  assert.equal((await ada.call('DELETE', url)).status, 409)
  assert.equal((await reserved(ada)).length, 1)
  assert.equal((await ada.call('DELETE', '/open/numbers/reservations/unknown')).status, 404)
})

test('a released number is not listed, its channel is disabled, and it stays in quarantine before it is sold again', async () => {
  const ada = await shop.customer()
  const [number] = await shop.group('rest', 1)
  await buy(ada, { group_id: 'rest' })
  const [row] = await listed(ada)
  const url = `/open/voip/virtual-numbers/${row?.uuid}`
  assert.deepEqual(await ada.call('DELETE', url), { status: 200, body: { success: true } })
  assert.deepEqual(await listed(ada), [])
  const again = await ada.call('DELETE', url)
  assert.equal(again.status, 404)
  assert.equal('success' in again.body, false)
  assert.equal((await ada.call('DELETE', '/open/voip/virtual-numbers/ACC1')).status, 400)
  const [channel] = (await ada.call('GET', '/open/sms/channels')).body.channels as Row[]
  assert.deepEqual([channel?.phone_number, channel?.enabled], [number, false])
  assert.equal(await ada.balance(), '97.500000')
  assert.equal((await buy(ada, { number })).status, 409)
})

test('only its owner can change a number, and its channel follows its name', async () => {
  const [ada, bob] = [await shop.customer(), await shop.customer()]
  await shop.group('mine', 1)
  await buy(ada, { group_id: 'mine' })
  const [row] = await listed(ada)
  const url = `/open/voip/virtual-numbers/${row?.uuid}`
  for (const method of ['GET', 'DELETE'] as const) assert.equal((await bob.call(method, url)).status, 404)
  assert.equal((await bob.call('PUT', url, { friendly_name: 'Mine' })).status, 404)
  const { status, body } = await ada.call('PUT', url, {
    friendly_name: 'Desk',
    record_inbound: true,
    timezone: 'Europe/London',
  })
  const changed = body.number as Row
  assert.deepEqual(
    [status, changed.friendly_name, changed.record_inbound, changed.timezone],
    [200, 'Desk', true, 'Europe/London'],
  )
  const [channel] = (await ada.call('GET', '/open/sms/channels')).body.channels as Row[]
  assert.equal(channel?.friendly_name, 'Desk')
  assert.equal((await ada.call('PUT', url, { timezone: 'Middle/Earth' })).status, 400)
  assert.equal(
    (await ada.call('PUT', url, { inbound_user_uuid: 'USR01a1fcca-93ab-7cbc-9f10-be702f775479' })).status,
    404,
  )
  assert.equal((await ada.call('PUT', url, { inbound_user_uuid: null })).status, 200)
})

// The following tests move the clock, so they come last.
test('a number is on sale from the end of its reservation on, however late the job that frees it', async () => {
  const [ada, bob] = [await shop.customer(), await shop.customer()]
  const [number] = await shop.group('over', 1)
  const { uuid } = details(await reserve(ada, { group_id: 'over' }))
  // Simulates a busy or absent expiry worker.
  const end = (account: string) =>
    shop.db.run`update reservations set expires_at = app_now() where account_id = ${account} and state = 'active'`
  assert.equal((await buy(bob, { number })).status, 409, 'before its end')
  await end(ada.id)
  const { status } = await buy(ada, {})
  assert.equal(status, 409, 'it is no longer reserved')
  assert.deepEqual(await reserved(ada), [])
  assert.equal((await ada.call('DELETE', `/open/numbers/reservations/${uuid}`)).status, 409)
  assert.equal(details(await reserve(bob, { group_id: 'over', number })).number, number)
  await end(bob.id)
  assert.equal(details(await reserve(ada, { group_id: 'over' })).number, number)
  await end(ada.id)
  assert.deepEqual((await buy(bob, { number })).body.purchased, [number])
  assert.equal(await free('over'), 0)
  assert.equal(await ada.balance(), '100.000000')
})

test('an expiring reservation frees its number, also when the clock is moved', async () => {
  const ada = await shop.customer()
  await shop.group('late', 1)
  const { uuid } = details(await reserve(ada, { group_id: 'late' }))
  await shop.advance(30 * 60 + 1)
  assert.deepEqual(await reserved(ada), [])
  await until('the number is free again', async () => (await free('late')) === 1, 2000)
  const { status, body } = await ada.call('DELETE', `/open/numbers/reservations/${uuid}`)
  assert.deepEqual([status, body.error_code], [409, 'reservation_expired'])
})

test('quarantine ends by itself, and the counts of free numbers match the free numbers', async () => {
  await shop.advance(31 * 86_400)
  await until('the rested number is free again', async () => (await free('rest')) === 1, 2000)
  const wrong = await shop.db.many`
    select s.group_id, s.free, count(n.number) from number_stock s
    left join numbers n on n.group_id = s.group_id and n.state = 'free'
    group by s.group_id, s.free having s.free <> count(n.number)`
  assert.deepEqual(wrong, [])
})

test('a number is renewed from the balance each month, and released at the end of the grace after an unpaid month', async () => {
  const ada = await shop.customer('4.20')
  await shop.group('monthly', 1)
  await buy(ada, { group_id: 'monthly' })
  const expiry = async () => Date.parse(String((await listed(ada))[0]?.expires_at))
  const first = await expiry()
  await shop.advance(32 * 86_400)
  await until('the second month is paid', async () => (await ada.balance()) === '0.200000', 3000)
  assert.ok((await expiry()) > first + 27 * 86_400_000)
  await shop.advance(31 * 86_400)
  await until('the third is tried again', async () => {
    const job = await shop.db.maybe<{ late: boolean }>`
      select run_at > app_now() as late from jobs where kind = 'numbers.renew' and account_id = ${ada.id}`
    return job?.late === true
  })
  assert.equal((await listed(ada)).length, 1)
  await shop.advance(8 * 86_400)
  await until('the number is released', async () => (await listed(ada)).length === 0, 3000)
  assert.equal(await ada.balance(), '0.200000')
})
