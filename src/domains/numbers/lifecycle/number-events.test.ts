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

type RecordedEvent = { name: string; channel_id: string | null; conversation: string; payload: Record<string, unknown> }

const eventsOf = (account: string) => shop.db.many<RecordedEvent>`
  select name, channel_id, conversation, payload from events where account_id = ${account} order by id`

test('events of a purchase and a release carry the number’s record, in the same transaction', async () => {
  const ada = await shop.customer()
  const [number = ''] = await shop.group('told', 1)
  await ada.call('POST', '/open/numbers/purchase', { group_id: 'told' })
  const [row] = (await ada.call('GET', '/open/voip/virtual-numbers')).body.numbers as Record<string, unknown>[]
  const purchased = { name: 'number.purchased', channel_id: null, conversation: number }
  assert.deepEqual(await eventsOf(ada.id), [{ ...purchased, payload: { ...row, event: 'number.purchased' } }])
  await ada.call('DELETE', `/open/voip/virtual-numbers/${row?.uuid}`)
  const [, released, ...more] = await eventsOf(ada.id)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [released?.name, released?.payload.uuid, released?.payload.status_text, released?.payload.reason],
    ['number.released', row?.uuid, 'RELEASED', 'requested'],
  )
})

test('a failed purchase publishes nothing', async () => {
  const poor = await shop.customer('1')
  await shop.group('untold', 1)
  assert.equal((await poor.call('POST', '/open/numbers/purchase', { group_id: 'untold' })).status, 402)
  assert.deepEqual(await eventsOf(poor.id), [])
})

test('the event of an unpaid release names its reason', async () => {
  const ada = await shop.customer('2.5')
  await shop.group('unpaid', 1)
  await ada.call('POST', '/open/numbers/purchase', { group_id: 'unpaid' })
  await shop.advance(50 * 86_400)
  await until('the release is published', async () => (await eventsOf(ada.id)).length === 2, 3000)
  const [, released] = await eventsOf(ada.id)
  assert.deepEqual([released?.name, released?.payload.reason], ['number.released', 'unpaid'])
})
