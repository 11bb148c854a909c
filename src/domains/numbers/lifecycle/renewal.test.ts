import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { graceDays } from '../limits.ts'
import { openShop } from '../testing.ts'
import { renew } from './renewal.ts'

const shop = await openShop()
const { db } = shop
after(shop.close)

/** Moves the clock to a time. */
const goTo = (time: Date | string) =>
  db.run`update clock set offset_seconds = offset_seconds + ceil(extract(epoch from ${time}::timestamptz - app_now()))::integer`

test('a number that was bought on the 31st ends on the last day of each month, and on the 31st where there is one', async () => {
  const ada = await shop.customer()
  const [number] = await shop.group('GB-local-1632-31st', 1)
  await goTo('2031-01-31T12:00:00Z')
  assert.equal((await ada.call('POST', '/open/numbers/purchase', { number })).status, 201)
  const row = () =>
    db.one<{ id: string; expires_at: Date }>`select id, expires_at from virtual_numbers where number = ${number ?? ''}`
  const days: string[] = []
  for (let month = 0; month < 14; month++) {
    const { id, expires_at } = await row()
    days.push(expires_at.toISOString().slice(2, 10))
    await goTo(expires_at)
    await db.begin((tx) => renew(tx, shop.parts.changes, { account: ada.id, id }, 30))
  }
  assert.deepEqual(
    days.join(' '),
    '31-02-28 31-03-31 31-04-30 31-05-31 31-06-30 31-07-31 31-08-31 31-09-30 31-10-31 31-11-30 31-12-31 32-01-31 32-02-29 32-03-31',
  )
})

test('a renewal repeated in the same month neither charges nor prolongs', async () => {
  const ada = await shop.customer()
  const [number] = await shop.group('GB-local-1632-twice', 1)
  assert.equal((await ada.call('POST', '/open/numbers/purchase', { number })).status, 201)
  const row = () =>
    db.one<{ id: string; expires_at: Date }>`select id, expires_at from virtual_numbers where number = ${number ?? ''}`
  const { id, expires_at: first } = await row()
  const again = () => db.begin((tx) => renew(tx, shop.parts.changes, { account: ada.id, id }, 30))
  // One second before its end the next month is not due.
  await goTo(new Date(first.getTime() - 1_000))
  await again()
  assert.deepEqual([(await row()).expires_at, await ada.balance()], [first, '97.500000'])
  await goTo(first)
  await again()
  const second = (await row()).expires_at
  assert.ok(second > first)
  assert.equal(await ada.balance(), '96.000000')
  await Promise.all([again(), again()])
  assert.deepEqual([(await row()).expires_at, await ada.balance()], [second, '96.000000'])
})

test('an unpaid number stays to the last second of the days of grace, and is released after them', async () => {
  const ada = await shop.customer('2.50')
  const [number] = await shop.group('GB-local-1632-grace', 1)
  assert.equal((await ada.call('POST', '/open/numbers/purchase', { number })).status, 201)
  const { id, expires_at } = await db.one<{ id: string; expires_at: Date }>`
    select id, expires_at from virtual_numbers where number = ${number ?? ''}`
  const isOwned = async () => {
    await db.begin((tx) => renew(tx, shop.parts.changes, { account: ada.id, id }, 30))
    return (await ada.call('GET', `/open/voip/virtual-numbers/DID${id}`)).status === 200
  }
  const end = expires_at.getTime() + graceDays * 86_400_000
  await goTo(expires_at)
  assert.equal(await isOwned(), true)
  await goTo(new Date(end - 10_000))
  assert.equal(await isOwned(), true)
  await goTo(new Date(end))
  assert.equal(await isOwned(), false)
  assert.equal(await ada.balance(), '0.000000')
})
