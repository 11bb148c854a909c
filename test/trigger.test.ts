import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { accountEvents, channelEvents, type EventName } from '../src/domains/events/event-names.ts'
import { startWebhookReceiver, type WebhookReceiver } from './hooks.ts'
import { payloadFault } from './payload.ts'
import { type Answer, buyNumber, type Platform, startPlatform, until } from './platform.ts'

// Triggered events, and examples that test a webhook: each id in them belongs to the account and can be read.

let platform: Platform
let hooks: WebhookReceiver
before(async () => {
  ;[platform, hooks] = [await startPlatform(), await startWebhookReceiver()]
})
after(async () => {
  await hooks?.end()
  await platform?.end('SIGKILL')
})

const must = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
  const answer = await platform.call(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const subscribe = async (event: string, channel_uuid?: string) => {
  const { url, bodies } = hooks.open()
  const { data } = await must('POST', `/open/webhooks/subscribe/${event}`, { hook_url: url, channel_uuid })
  return { uuid: data.uuid, bodies }
}

/** The channels of the account: one of each kind, each with a newer one of the same kind. */
const furnish = async () => {
  const { number, channel: sms } = await buyNumber(platform)
  const { numbers } = await must('GET', '/open/voip/virtual-numbers')
  const did = numbers.find((one: { phone_number: string }) => one.phone_number === number).uuid
  const [chat] = (await must('GET', '/open/msgapp/get-numbers')).numbers
  await buyNumber(platform)
  const other = (await must('POST', '/open/msgapp/channel/create', { phone_number: '+447400130108' })).channel
  for (const { uuid } of [chat, other])
    await until(async () => (await must('GET', `/open/msgapp/channel/${uuid}/status`)).connection_status === 'C')
  return { sms, call: did, msgapp: chat.uuid }
}

const lists: { readonly [prefix: string]: readonly [path: string, field: string] } = {
  USR: ['/open/members', 'members'],
  VCI: ['/open/voip/caller-ids', 'caller_ids'],
}
const paths: { readonly [prefix: string]: string } = {
  ...{ SMI: '/open/sms/message/', SMO: '/open/sms/message/', SMS: '/open/sms/channel/' },
  ...{ DID: '/open/voip/virtual-numbers/', CDR: '/open/voip/call/', CON: '/open/contacts/' },
  ...{ WPN: '/open/msgapp/channel/', WAG: '/open/msgapp/group/', CHK: '/open/msgapp/check-numbers/' },
  CNV: '/open/conversations/',
  JOB: '/open/conversations/bulk/',
}

/** Reads everything that an event names. */
const readAll = async (body: Answer['body']) => {
  const text = JSON.stringify(body)
  const named = new Set(text.match(/\b[A-Z]{3}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g) ?? [])
  const own = (await must('GET', '/open/info')).account.uuid
  for (const id of named) {
    const prefix = id.slice(0, 3)
    const list = lists[prefix]
    if (prefix === 'ACC') assert.equal(id, own)
    else if (prefix === 'MSG' && String(body.event).startsWith('conversation.')) {
      const { items } = await must('GET', `/open/conversations/${body.uuid}/items?around=${id}`)
      assert.ok(items.some(({ uuid }: { uuid: string }) => uuid === id))
    } else if (prefix === 'MSG') await must('GET', `/open/msgapp/message/${body.session_key}/${id}`)
    else if (list) {
      const answer = await must('GET', list[0])
      const rows: { uuid: string }[] = (answer.data ?? answer)[list[1]]
      assert.ok(
        rows.some(({ uuid }) => uuid === id),
        `${id} of ${text}`,
      )
    } else {
      assert.ok(paths[prefix], `${id} of ${text}`)
      await must('GET', paths[prefix] + id)
    }
  }
  return named
}

type Kind = keyof typeof channelEvents
/** Events of calls for which the sandbox has only an example, as the test has no such call. */
const withoutCall: readonly EventName[] = [
  'call.outbound.completed',
  'call.answered',
  'call.recording.ready',
  'call.program.failed',
]
const kinds = ['sms', 'call', 'msgapp'] as const satisfies Kind[]
let channels: { readonly [kind in Kind]: string }
const tried = new Map<EventName, { uuid: string; bodies: Answer['body'][] }>()

test('every event that is triggered reaches a webhook on a channel, with ids of the account that can be read', async () => {
  channels = await furnish()
  const trigger = async (event: EventName, channel: string) => {
    const hook = await subscribe(event, channel)
    tried.set(event, hook)
    if (withoutCall.includes(event)) return
    const { via, channel_uuid } = await must('POST', `/sandbox/events/${event}`)
    assert.equal(channel_uuid, channel, `${event} happens on the channel of its webhook, and not on the newest`)
    assert.equal(via === 'example', event === 'msgapp.number.status', `${event} by ${via}`)
    const body = await until(async () => hook.bodies[0])
    assert.equal(body.event, event)
    assert.equal(body.test, via === 'example' ? true : undefined, event)
    assert.equal(payloadFault(event, body), null)
    assert.ok((await readAll(body)).size > 0, `${event} names something: ${JSON.stringify(body)}`)
  }
  const all = kinds.map(async (kind) => {
    for (const event of channelEvents[kind]) await trigger(event, channels[kind])
  })
  await Promise.all(all)
  const failed = tried.get('sms.message.failed')?.bodies[0]
  assert.equal(failed.status, 'undelivered')
  assert.equal(tried.get('msgapp.message.receipt.read')?.bodies[0].wa_msg_ack, 3)
})

test('an event of the whole account really happens, or shows what the account has', async () => {
  await must('POST', '/open/msgapp/check-numbers', { numbers: ['+447400123456'] })
  await until(async () => (await platform.call('POST', '/sandbox/events/msgapp.check.completed')).status === 202)
  await must('POST', '/open/members', { first_name: 'Ada', last_name: 'Example', email: 'lovelace@example.com' })
  const [account] = (await platform.call('GET', '/operator/accounts')).body.accounts
  await must('PATCH', `/operator/accounts/${account.uuid}`, { low_balance: '1' })
  const [{ uuid: conversation }] = await until(async () => {
    const { conversations } = await must('GET', '/open/conversations')
    return conversations.length > 0 ? conversations : null
  })
  const [{ uuid: user }] = (await must('GET', '/open/users')).data.users
  await must('PATCH', `/open/conversations/${conversation}`, { assignee_uuid: user, status: 'closed' })
  await must('POST', '/open/conversations/bulk', { uuids: [conversation], change: { priority: 1 } })
  await until(async () => (await platform.call('POST', '/sandbox/events/conversation.bulk')).status === 202)
  for (const event of accountEvents.filter((name) => name !== 'conversation.note.created')) {
    const hook = await subscribe(event)
    tried.set(event, hook)
    const { via, channel_uuid } = await must('POST', `/sandbox/events/${event}`)
    assert.deepEqual([via, channel_uuid], [event.startsWith('contact.') ? 'account' : 'example', undefined], event)
    const body = await until(async () => hook.bodies[0])
    assert.equal(body.event, event)
    assert.equal(payloadFault(event, body), null)
    await readAll(body)
  }
  await must('PATCH', `/operator/accounts/${account.uuid}`, { low_balance: '2' })
  await must('POST', '/sandbox/events/balance.low')
  const low = tried.get('balance.low')?.bodies ?? []
  await until(async () => low.length === 2)
  assert.deepEqual(
    low.map(({ low_balance }) => Number(low_balance)),
    [1, 2],
    'an example shows the present, and no earlier example',
  )
})

test('the test of a webhook sends an event that happened, with its ids, or names what the account lacks', async () => {
  for (const [event, { uuid, bodies }] of tried) {
    const before = bodies.length
    const answer = await platform.call('POST', `/open/webhooks/${uuid}/test`)
    assert.equal(answer.status, 202, `${event}: ${JSON.stringify(answer.body)}`)
    const body = await until(async () => bodies.slice(before).find(({ test }) => test === true))
    assert.equal(body.event, event)
    if (withoutCall.includes(event)) {
      assert.match(body.note, new RegExp(`${event} on that channel is available: the account has had no such call`))
      continue
    }
    await readAll(body)
  }
})

test('deleted things are not shown any more', async () => {
  const hook = await subscribe('contact.updated')
  const shown = async () => {
    const before = hook.bodies.length
    await must('POST', `/open/webhooks/${hook.uuid}/test`)
    return (await until(async () => hook.bodies[before])).uuid
  }
  const first = await shown()
  await must('DELETE', `/open/contacts/${first}`)
  const second = await shown()
  assert.notEqual(second, first)
  await must('GET', `/open/contacts/${second}`)
})

test('a channel can be named, and one that cannot have the event is refused', async () => {
  const { sms, call: did, msgapp } = channels
  const trigger = (event: string, channel_uuid: string) =>
    platform.call('POST', `/sandbox/events/${event}`, { channel_uuid })
  const { channels: known } = await must('GET', '/open/sms/channels')
  const other = known.find(({ uuid }: { uuid: string }) => uuid !== sms).uuid
  assert.equal((await trigger('sms.message.received', other)).body.channel_uuid, other)
  assert.equal((await trigger('sms.message.received', did)).body.channel_uuid, sms)
  const wrong = await trigger('sms.message.received', msgapp)
  assert.deepEqual([wrong.status, wrong.body.error_code], [400, 'event_not_of_channel'])
  assert.equal((await trigger('sms.message.received', `${sms.slice(0, -4)}0000`)).status, 404)
})

test('an account without a channel learns what it lacks', async () => {
  const { account } = (await platform.call('POST', '/operator/accounts', { name: 'Empty', sandbox: true })).body
  const { key } = (await platform.call('POST', `/operator/accounts/${account.uuid}/keys`, { label: 'x' })).body
  for (const [event, code, words] of [
    ['sms.message.received', 'channel_missing', /POST \/open\/numbers\/purchase/],
    ['call.status.update', 'channel_missing', /POST \/open\/numbers\/purchase/],
    ['msgapp.message.received', 'channel_missing', /POST \/open\/msgapp\/channel\/create/],
    ['number.purchased', 'no_example', /has no virtual number/],
  ] as const) {
    const answer = await platform.call('POST', `/sandbox/events/${event}`, undefined, { 'x-user-api-key': key })
    assert.deepEqual([answer.status, answer.body.error_code], [409, code], event)
    assert.match(answer.body.error_message, words)
  }
})

test('a handset on another network is named, and the sandbox is not reported as down', async () => {
  const friends = ['+447700900123', '+447700900124', '+447700900125', '+447700900126']
  const set = (on_msgapp: boolean) =>
    Promise.all(friends.map((number) => platform.call('PUT', `/sandbox/handsets/${number}`, { on_msgapp })))
  await set(false)
  const events = ['msgapp.group.join', 'msgapp.message.receipt.read']
  const answers = await Promise.all(events.map((event) => platform.call('POST', `/sandbox/events/${event}`)))
  await set(true)
  for (const { status, body } of answers) {
    assert.deepEqual([status, body.error_code], [409, 'conflict'], JSON.stringify(body))
    assert.match(body.error_message, /The handset \+4477009001\d\d cannot do this/)
  }
})
