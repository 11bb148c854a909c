import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../../test/persons.ts'
import { makeWorld } from '../../../../test/world.ts'
import { eventDocuments } from '../../../event-payloads.ts'
import type { Capability } from '../../../platform/http/capability.ts'
import { contentsIn, redactPayload } from '../../events/contents/ops.ts'
import { accountEvents, eventNames } from '../../events/event-names.ts'
import { record } from '../../events/ops.ts'
import { makeInbox } from '../../inbox/inbox-testing.ts'
import { makeChatHarness } from '../../msgapp/messages/testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call } = world
const who = await world.tenant()
const line = await makeInbox(world).giveNumber(who)
const { line: chat } = await makeChatHarness(world, who.id)
const developer = await member(world, who, 'developer')
const keyOf = async (...scopes: Capability[]) => {
  const created = await call('operator', 'POST', `/operator/accounts/${who.uuid}/keys`, { label: 'reader', scopes })
  return { ...who, key: created.body.key }
}

/** Events that say nothing that people wrote. */
const plain = [
  ...['call.initiated', 'call.answered', 'call.recording.ready', 'call.program.failed'],
  ...['call.status.update', 'call.incoming.completed', 'call.outbound.completed', 'msgapp.call.received'],
  ...['msgapp.call.made', 'msgapp.number.status', 'number.purchased', 'number.released', 'number.suspended'],
  ...['number.updated', 'balance.low', 'conversation.bulk', 'member.joined', 'member.changed'],
]

const channelOf = (name: string) => {
  if (accountEvents.some((one) => one === name)) return {}
  if (name.startsWith('msgapp.')) return { channel_uuid: `WPN${chat.channel}` }
  return name.startsWith('sms.') ? { channel_uuid: `SMS${line.channel}` } : { channel_uuid: `DID${line.did}` }
}
const hook = (path: string) => `http://127.0.0.1:1024/${path}`

test('a caller subscribes an address only to events whose contents the caller may see', async () => {
  const all = await keyOf('inbox', 'inbox.all', 'develop')
  for (const name of eventNames) {
    const body = { hook_url: hook(name), ...channelOf(name) }
    const expected = plain.includes(name) ? 201 : 403
    const one = await developer.call('POST', `/open/webhooks/subscribe/${name}`, body)
    assert.equal(one.status, expected, `${name}: ${JSON.stringify(one.body)}`)
    if (expected === 403) {
      assert.equal(one.body.error_code, 'contents_not_visible')
      assert.match(one.body.error_message, /needs the rights inbox and inbox.all/)
    }
    const several = { ...body, event_names: ['number.purchased', name] }
    const created = await developer.call('POST', '/open/webhooks', several)
    assert.equal(created.status < 300, expected === 201, `${name}: ${JSON.stringify(created.body)}`)
    assert.equal(
      (await call(all, 'POST', `/open/webhooks/subscribe/${name}`, body)).status,
      expected === 201 ? 200 : 201,
    )
  }
  const names = (await developer.call('GET', '/open/webhooks')).body.webhooks.map(
    (one: { event_name: string }) => one.event_name,
  )
  assert.ok(names.includes('sms.message.received'), 'webhooks of others are listed')
})

test('a key that sees a part of the inbox, and one that reads no calls, subscribe less', async () => {
  const [part, nothing] = [await keyOf('inbox', 'read_only', 'develop'), await keyOf('develop')]
  const statusOf = async (key: typeof part, name: string) =>
    (await call(key, 'POST', `/open/webhooks/subscribe/${name}`, { hook_url: hook('part'), ...channelOf(name) })).status
  assert.deepEqual(
    [await statusOf(part, 'sms.message.received'), await statusOf(part, 'call.incoming.completed')],
    [403, 201],
  )
  assert.deepEqual(
    [await statusOf(nothing, 'call.incoming.completed'), await statusOf(nothing, 'balance.low')],
    [403, 201],
  )
})

test('a developer operates a webhook with contents, and sends it to no other address', async () => {
  const url = hook('operated')
  const subscribed = { hook_url: url, channel_uuid: `SMS${line.channel}` }
  const created = await call(who, 'POST', '/open/webhooks/subscribe/sms.message.received', subscribed)
  const path = `/open/webhooks/${created.body.data.uuid}`
  const attempt = async (body: object) => {
    const { status, body: reply } = await developer.call('PUT', path, body)
    return status === 200 ? reply.webhook.enabled : reply.error_code
  }
  const redirected = { hook_url: hook('elsewhere') }
  const refused = 'contents_not_visible'
  assert.deepEqual([await attempt(redirected), await attempt({ ...redirected, endpoint: true })], [refused, refused])
  assert.deepEqual([await attempt({ hook_url: url }), await attempt({ enabled: true })], [true, true])

  const event = { account: who.id, name: 'sms.message.received' as const, channel: line.channel, conversation: null }
  await db.begin((tx) => record(tx, [{ ...event, payload: { text: 'ZQXTEXTZQX' } }]))
  const { deliveries } = (await developer.call('GET', `${path}/deliveries`)).body
  assert.deepEqual([deliveries[0].payload.text, deliveries[0].payload.redacted], ['•••', true])
  const again = await developer.call('POST', `/open/webhooks/deliveries/${deliveries[0].id}/redeliver`)
  assert.deepEqual([again.status, again.body.delivery.payload.text], [202, '•••'])
  assert.equal((await developer.call('POST', `${path}/test`, {})).status, 202)
  assert.equal((await developer.call('POST', `${path}/rotate-secret`, {})).status, 200)
  assert.equal((await developer.call('POST', `${path}/replay`, { since: '2026-01-01T00:00:00Z' })).status, 202)

  // The headers of a call sign its body: a guess of a masked text could be confirmed by them.
  await db.run`
    update webhook_deliveries set attempts =
      '[{"at": "2026-11-23T00:00:00Z", "latency_ms": 1, "timestamp": 1, "response_excerpt": "ZQXTEXTZQX"}]'
    where account_id = ${who.id}`
  const deliveryPath = `/open/webhooks/deliveries/${deliveries[0].id}`
  const [masked, whole] = [await developer.call('GET', deliveryPath), await call(who, 'GET', deliveryPath)]
  assert.ok(!JSON.stringify(masked.body).includes('ZQXTEXTZQX'), JSON.stringify(masked.body))
  assert.deepEqual(
    [masked, whole].map(({ body }) => 'webhook-timestamp' in body.request.attempts[0].headers),
    [true, true],
  )
  assert.equal('webhook-signature' in masked.body.request.attempts[0].headers, false)
  assert.deepEqual(
    [JSON.parse(whole.body.request.body).text, JSON.parse(masked.body.request.body).text],
    ['ZQXTEXTZQX', '•••'],
  )

  assert.equal(await attempt({ enabled: false }), false)
  assert.deepEqual(
    [await attempt({ enabled: true }), await attempt({ enabled: true, endpoint: true })],
    [refused, refused],
  )
  assert.equal((await call(who, 'PUT', path, { enabled: true })).body.webhook.enabled, true)
})

/** Fields of events with contents that every reader of the log may see: they tell who, where and when. */
const envelope = `
  account_uuid active agent_id application_uuid assignee_uuid at blocked blocked_at by_user_uuid call_price
  caller_id_used caller_id_uuid callid channel_phone_number channel_uuid checked code conversation_uuid
  counterpart created_at destination detail direction diverted_from duration edited edited_at end_dt end_reason
  end_time error error_code event field forwarded fragments from group_uuid id is_from_agent is_from_api
  is_from_chatter is_from_flow_run is_msgapp_call is_sip_trunk_call iso_country_code item_uuid jitter_ms kind
  last_updated loss_percent mentions mos note npdi number participants phone_number previous_assignee_uuid
  previous_message_at price priority reacted_at reaction_by read read_at reason received received_on_number
  received_on_number_uuid recording_seconds recording_uuid redacted remote_id remote_phone_number removed
  removed_at results rn round_trip_ms send_at sending_uuid sent sent_by snoozed_till_reply snoozed_until source
  start_dt start_time state status sub_status synced_at tags test timestamp to to_number toll_free total
  updated_at url user_uuid uuid version verstat voip_number_setup_id wa_group_id wa_msg_ack wa_msg_id
  waiting_since
`

test('each field of an event is either masked or known to be part of its envelope', () => {
  const leaves = (schema: unknown): unknown => {
    const { properties, items, anyOf, allOf, type } = Object(schema)
    if (properties) return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, leaves(one)]))
    if (items) return [leaves(items)]
    const [choice] = [anyOf, allOf]
      .flatMap((one) => (Array.isArray(one) ? one : []))
      .filter((one) => one.type !== 'null')
    return choice ? leaves(choice) : String(type)
  }
  const shown = new Set<string>()
  const collect = (value: unknown, name = '') => {
    if (Array.isArray(value)) for (const one of value) collect(one, name)
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) collect(one, key)
    else if (value !== '•••') shown.add(name)
  }
  const none = { messages: false, recordings: false }
  for (const { name, body } of eventDocuments) {
    if (contentsIn(name) === null) continue
    const redacted = redactPayload(name, JSON.stringify(leaves(body)), none)
    collect(JSON.parse(redacted))
  }
  assert.deepEqual([...shown].sort(), envelope.trim().split(/\s+/))
})
