import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Receiver } from '../../../../test/doubles/receiver.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { record } from '../../events/ops.ts'
import { namesOf } from '../testing.ts'
import { storeResults } from './attempt-store.ts'
import { ConversationQueues } from './conversation-queues.ts'
import { type DeliveryEngine, startDeliveryEngine } from './delivery-engine.ts'

const receiver = await new Receiver().up()
let engine: DeliveryEngine | undefined
after(async () => {
  await engine?.stop(100)
  await receiver.down()
})
const { db, parts, tenant, call } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

/** More deliveries than a process loads at a time for a receiver that failed. */
const count = 40

const subscribe = async () => {
  const who = await tenant()
  const body = { hook_url: receiver.url('/order') }
  const { body: answer } = await call(who, 'POST', '/open/webhooks/subscribe/contact.created', body)
  return { who, webhook: String(answer.data.uuid).slice(3) }
}

test('a process that takes a webhook over sends a due retry before the newer events of its conversation', async () => {
  const { who, webhook } = await subscribe()
  const names = Array.from({ length: count }, (_, i) => String(i))
  const about = { account: who.id, name: 'contact.created' as const, channel: null, conversation: 'one' }
  await db.begin((tx) =>
    record(
      tx,
      names.map((first_name) => ({ ...about, payload: { first_name } })),
    ),
  )
  // The last process stored the failure of the first event, and ended. The retry became due after the newer events.
  await db.run`
    update webhook_deliveries set tries = 1, next_at = app_now() where webhook_id = ${webhook} and event_id = (
      select event_id from webhook_deliveries where webhook_id = ${webhook} order by event_id limit 1)`
  await db.run`update webhook_endpoint_leases set failures = 1 where webhook_id = ${webhook}`
  engine = startDeliveryEngine(parts)
  await until(async () => receiver.of('/order').length >= count)
  assert.deepEqual(namesOf(receiver.of('/order')), names)
})

test('a delivery waits for a head whose failure is stored by the same statement', async () => {
  const { id: account } = await tenant()
  const [webhook, worker, head, next] = [uuid(), uuid(), uuid(), uuid()]
  await db.run`insert into webhook_endpoint_leases (account_id, webhook_id, owner) values (${account}, ${webhook}, ${worker})`
  await db.run`
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select ${account}, ${webhook}, e, 'one', app_now(), app_now() from unnest(${[head, next]}::uuid[]) e`
  const key = { account, webhook, attempt: null }
  await storeResults(
    db,
    worker,
    [
      { ...key, event: head, what: 'again', seconds: 5 },
      { ...key, event: next, what: 'parked', seconds: 0, head },
    ],
    true,
  )
  const { gap } = await db.one<{ gap: number }>`
    select extract(epoch from n.next_at - h.next_at)::float8 as gap from webhook_deliveries n, webhook_deliveries h
    where n.event_id = ${next} and h.event_id = ${head}`
  assert.equal(gap, 0.01)
})

test('a clock that jumps does not release what waits for a head', () => {
  const queues = new ConversationQueues()
  queues.hold('one', '1', 5_000)
  const next = { event: '2', conversation: 'one', tries: 0, body: '{}' }
  assert.equal(queues.blockingHead(next, 400_000, 0), '1')
  assert.equal(queues.blockingHead(next, 400_000, 29_000), '1')
  // The head was delivered by another process, or deleted.
  assert.equal(queues.blockingHead(next, 400_000, 31_000), null)
})
