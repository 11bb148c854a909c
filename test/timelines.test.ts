import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startWebhookReceiver, type WebhookReceiver } from './hooks.ts'
import { type Answer, buyNumber, type Platform, startPlatform, until } from './platform.ts'

// Timelines, the event log and the search on the whole program, with the carriers and handsets of the sandbox.

let platform: Platform
let hooks: WebhookReceiver
before(async () => {
  ;[platform, hooks] = [await startPlatform(), await startWebhookReceiver()]
})
after(async () => {
  await hooks?.end()
  await platform?.end('SIGKILL')
})

const must = async (method: string, path: string, body?: unknown, headers = {}): Promise<Answer['body']> => {
  const answer = await platform.call(method, path, body, headers)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

type Timeline = {
  timeline: { at: string; after_ms: number; what: string; text: string; detail?: Record<string, unknown> }[]
  outcome: { state: string; error_code?: string; text: string }
  next_step: { kind: string; text: string; target_uuid?: string }
}

const whats = ({ timeline }: Timeline) => timeline.map(({ what }) => what)

/** Reads a timeline until it has the facts. */
const timelineWith = (path: string, ...facts: string[]): Promise<Timeline> =>
  until(async () => {
    const found: Timeline = await must('GET', `${path}/timeline`)
    return facts.every((fact) => whats(found).includes(fact)) && found
  })

const send = async (from_number: string, to_number: string, more = {}): Promise<string> =>
  (await must('POST', '/open/sms/send', { from_number, to_number, text: 'a secret text', ...more })).message_uuid

/** Makes a key with these scopes only. @returns its header */
const keyWith = async (...scopes: string[]) => {
  const { account } = await must('GET', '/open/info')
  const path = `/operator/accounts/${account.uuid}/keys`
  return { 'x-user-api-key': (await must('POST', path, { label: scopes.join(), scopes })).key }
}

test('a delivered SMS has a timeline of all its facts, in order, and a webhook that answered', async () => {
  const { number, channel } = await buyNumber(platform)
  const { url } = hooks.open()
  await must('POST', '/open/webhooks/subscribe/sms.message.delivered', { hook_url: url, channel_uuid: channel })
  const uuid = await send(number, '+447700900123')
  const found = await timelineWith(`/open/sms/message/${uuid}`, 'receipt', 'delivered_to_webhook')
  assert.deepEqual(whats(found), [...['accepted', 'charged', 'routed', 'submitted', 'receipt', 'delivered_to_webhook']])
  assert.deepEqual([found.outcome.state, found.next_step.kind], ['succeeded', 'none'])
  assert.ok(found.timeline.every(({ after_ms: ms }) => Number.isInteger(ms) && ms >= 0))
  const { detail } = found.timeline.at(-1) ?? assert.fail()
  assert.deepEqual([detail?.event_name, detail?.response_status], ['sms.message.delivered', 200])
  const text = JSON.stringify(found)
  assert.ok(!text.includes('secret text'), 'the text is absent')
  const { parts } = await must('GET', `/operator/messages/${uuid}`)
  assert.ok(!text.includes(parts[0].connection_uuid), 'no connection is named')

  const { event, deliveries, ...log } = await must('GET', `/open/events/${detail?.event_uuid}`)
  assert.deepEqual([event.name, event.channel_uuid, event.payload.uuid], ['sms.message.delivered', channel, uuid])
  assert.deepEqual([deliveries.length, deliveries[0].state, deliveries[0].response_status], [1, 'delivered', 200])
  assert.deepEqual([whats(log), log.outcome.state], [['recorded', 'delivered_to_webhook'], 'succeeded'])
})

test('a failed SMS ends with its reason in words, the refund, and what to do', async () => {
  const { number } = await buyNumber(platform)
  await must('PUT', '/sandbox/handsets/+447700900777', { sms: 'reject' })
  const rejected = await send(number, '+447700900777')
  const receipt = await timelineWith(`/open/sms/message/${rejected}`, 'receipt')
  assert.deepEqual([receipt.outcome.state, receipt.next_step.kind], ['failed', 'check_number'])
  assert.match(receipt.outcome.text, /^The network of the recipient rejected the message\. The carrier reported/)

  const later = new Date(Date.now() + 86_400_000).toISOString()
  const canceled = await send(number, '+447700900123', { send_at: later })
  const scheduled = await timelineWith(`/open/sms/message/${canceled}`, 'scheduled')
  assert.deepEqual([scheduled.outcome.state, scheduled.next_step.kind], ['in_progress', 'wait'])
  await must('DELETE', `/open/sms/message/${canceled}`)
  const end = await timelineWith(`/open/sms/message/${canceled}`, 'canceled', 'refunded')
  assert.deepEqual(whats(end), ['accepted', 'charged', 'scheduled', 'routed', 'canceled', 'refunded'])
  const [charged, refunded] = ['charged', 'refunded'].map((what) => end.timeline.find((one) => one.what === what))
  assert.equal(refunded?.detail?.amount, charged?.detail?.amount)
  const money = (await must(
    'GET',
    `/open/sms/message/${canceled}/timeline`,
    undefined,
    await keyWith('read_only'),
  )) as Timeline
  assert.ok(
    money.timeline.every(({ detail }) => detail?.amount === undefined),
    'amounts need the scope money or inbox',
  )
})

test('an inbound SMS, a message of the app, a number and a receiver that fails have timelines', async () => {
  const { number, channel } = await buyNumber(platform)
  const { url } = hooks.open()
  const hook_url = `${url}/missing`
  await must('POST', '/open/webhooks/subscribe/sms.message.received', { hook_url, channel_uuid: channel })
  await must('POST', '/sandbox/handsets/+447700900123/sms', { to: number, text: 'hello' })
  const message = await until(async () => {
    const { messages } = await must('GET', `/open/sms/messages?direction=inbound&channel_uuid=${channel}`)
    return messages[0]
  })
  const inbound = await timelineWith(`/open/sms/message/${message.uuid}`, 'received', 'delivered_to_webhook')
  assert.match(inbound.timeline.at(-1)?.text ?? '', /^127\.0\.0\.1:\d+ answered 404$/)

  const { numbers } = await must('GET', '/open/voip/virtual-numbers?results_per_page=200')
  const did = numbers.find((one: { phone_number: string }) => one.phone_number === number).uuid
  await must('POST', `/operator/numbers/${did}/suspend`, { reason: 'abuse reports' })
  const suspended = await timelineWith(`/open/voip/virtual-numbers/${did}`, 'suspended')
  assert.deepEqual(whats(suspended).slice(0, 2).toSorted(), ['bought', 'charged'])
  assert.deepEqual([suspended.outcome.state, suspended.next_step.kind], ['failed', 'ask_operator'])
  assert.match(suspended.outcome.text, /abuse reports/)
  await must('POST', `/operator/numbers/${did}/reinstate`)
  const works = await must('GET', `/open/voip/virtual-numbers/${did}/timeline`)
  assert.deepEqual([works.outcome.state, whats(works).includes('suspended')], ['succeeded', true])

  const [chat] = (await must('GET', '/open/msgapp/get-numbers')).numbers
  await until(async () => (await must('GET', `/open/msgapp/channel/${chat.uuid}/status`)).connection_status === 'C')
  const body = { from_number: chat.phone_number, to_number: '+447700900123', text: 'a secret text' }
  const { message_uuid: uuid } = await must('POST', '/open/msgapp/send-message', body)
  const path = `/open/msgapp/message/WW-${chat.uuid}-447700900123@c.us/${uuid}`
  const sent = await timelineWith(path, 'accepted', 'submitted', 'receipt')
  assert.deepEqual(whats(sent).slice(0, 3), ['accepted', 'submitted', 'receipt'])
  await until(async () => (await must('GET', `${path}/timeline`)).outcome.state === 'succeeded')
})

test('the event log is filtered, paged in both directions, and masks what people wrote', async () => {
  const { number, channel } = await buyNumber(platform)
  const [first] = (await must('GET', '/open/events?results_per_page=1')).events
  for (let i = 0; i < 5; i++)
    await must('POST', '/sandbox/handsets/+447700900124/sms', { to: number, text: `text ${i}` })
  const query = `/open/events?name=sms.message.received&channel_uuid=${channel}`
  await until(async () => (await must('GET', query)).count === 5)
  const pages = async (path: string) => {
    const texts: string[] = []
    for (let cursor = ''; ; ) {
      const { events, next_cursor } = await must('GET', `${path}&results_per_page=2${cursor}`)
      texts.push(...events.map((one: { payload: { text: string } }) => one.payload.text))
      if (next_cursor === undefined) return texts
      cursor = `&cursor=${next_cursor}`
    }
  }
  const all = ['text 0', 'text 1', 'text 2', 'text 3', 'text 4']
  assert.deepEqual(await pages(query), all.toReversed())
  assert.deepEqual(await pages(`${query}&after=${first.uuid}`), all)
  assert.deepEqual(await pages(`${query}&until=2026-01-01T00:00:00Z`), [])
  assert.equal((await pages(`${query}&since=2026-01-01T00:00:00Z`)).length, 5)
  const masked = await must('GET', query, undefined, await keyWith('read_only'))
  assert.ok(masked.events.every((one: { payload: { text: string } }) => one.payload.text === '•••'))
  assert.equal((await platform.call('GET', query, undefined, await keyWith('money'))).status, 403)
})

test('the search finds a contact, numbers in three spellings, and anything by its id', async () => {
  const { number } = await buyNumber(platform)
  const uuid = await send(number, '+447700900125')
  const details = [{ type: 'PH', value: '+447700900125' }]
  const { contact } = await must('POST', '/open/contacts', {
    ...{ first_name: 'Ada', last_name: 'Lovelace', contact_details: details },
  })
  const find = async (
    q: string,
    more = '',
    headers = {},
  ): Promise<Record<string, { uuid: string; marks: unknown }[]>> => {
    const { groups } = await must('GET', `/open/search?q=${encodeURIComponent(q)}${more}`, undefined, headers)
    return Object.fromEntries(groups.map((one: { in: string; results: object[] }) => [one.in, one.results]))
  }
  const byName = await find('lovelace')
  assert.deepEqual(
    byName.contacts?.map((one) => [one.uuid, one.marks]),
    [[contact.uuid, [[4, 12]]]],
  )
  for (const spelling of ['+447700900125', '0044 7700 900125', '07700 900125', '447700900125']) {
    const { contacts, texts } = await find(spelling)
    assert.equal(contacts?.[0]?.uuid, contact.uuid, spelling)
    assert.equal(texts?.[0]?.uuid, uuid, spelling)
  }
  assert.ok((await find(number.slice(0, 6))).numbers?.length, 'a number by its beginning')
  for (const id of [uuid, contact.uuid]) {
    const found = Object.values(await find(id)).flat()
    assert.deepEqual(
      found.map((one) => one.uuid),
      [id],
    )
  }
  assert.deepEqual(Object.keys(await find('+447700900125', '&in=texts')), ['texts'])
  const plain = await find('+447700900125', '', await keyWith('read_only'))
  assert.deepEqual([plain.contacts, plain.texts?.map((one) => Object(one).text)], [undefined, ['']])
})

test('messages are found by contact over all channels, and by error code', async () => {
  const [one, two] = [await buyNumber(platform), await buyNumber(platform)]
  await must('PUT', '/sandbox/handsets/+447700900778', { sms: 'reject' })
  for (const { number } of [one, two, one]) await send(number, '+447700900778')
  const list = async (query: string) => (await must('GET', `/open/sms/messages?${query}`)).messages
  const contact = `contact_number=${encodeURIComponent('+447700900778')}`
  assert.equal((await list(contact)).length, 3)
  assert.equal((await list(`${contact}&channel_uuid=${one.channel}`)).length, 2)
  const [{ error_code: code }] = await until(async () => {
    const found = await list(`${contact}&status=rejected`)
    return found.length === 3 && found
  })
  assert.ok((await list(`error_code=${code}`)).length >= 3)
  assert.deepEqual(await list('error_code=none_such'), [])
})
