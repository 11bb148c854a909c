import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { startWebhookReceiver, type WebhookReceiver } from '../../../../test/hooks.ts'
import { type Platform, startPlatform, until } from '../../../../test/platform.ts'
import { appSecret, type GraphApi, startGraph, verifyToken } from '../../../../test/whatsapp-cloud/graph.ts'

// Cases of the Cloud API beyond the conformance suite: its callbacks, its rule of 24 hours, and its errors.

const ours = '+447700900321'

describe('the Cloud API of WhatsApp', { timeout: 120_000 }, () => {
  let platform: Platform
  let graph: GraphApi
  let hooks: WebhookReceiver
  let callback: string
  let connection: string
  let channel: string

  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const stands = (status: string) =>
    until(async () => {
      const stand = await call('GET', `/open/msgapp/channel/${channel}/status`)
      return stand.connection_status === status && stand
    })
  const hear = async (event: string) => {
    const { url, bodies } = hooks.open()
    await call('POST', `/open/webhooks/subscribe/${event}`, { hook_url: url, channel_uuid: channel })
    return bodies
  }

  before(async () => {
    platform = await startPlatform()
    graph = await startGraph()
    hooks = await startWebhookReceiver()
    await graph.control('POST', 'phones', { number: ours, name: 'Our shop' })
    const { account } = await call('GET', '/open/info')
    const settings = { kind: 'whatsapp-cloud', name: 'the shop', settings: graph.settings }
    const access = { account_uuids: [account.uuid] }
    connection = (await call('POST', '/operator/connections', { ...settings, ...access })).connection.uuid
    callback = `${platform.url}/callbacks/msgapp/${connection}`
    await graph.control('POST', 'callback', { url: callback, verify_token: verifyToken })
    channel = (await call('POST', '/open/msgapp/channel/create', { phone_number: ours, connection })).channel.uuid
    await stands('C')
  })
  after(async () => {
    await platform.end()
    await graph.stop()
    await hooks.end()
  })

  let people = 0
  const newPerson = async (more: object = {}) => {
    const number = `+447400${150_000 + ++people}`
    const { user } = await graph.control('POST', 'people', { number, open: true, ...more })
    return { number, user, path: `/open/msgapp/messages/${ours}/${number}` }
  }
  type Person = Awaited<ReturnType<typeof newPerson>>
  const write = ({ number }: Person, more: object) => graph.control('POST', 'write', { number, to: ours, ...more })
  const seen = async ({ number }: Person) => (await graph.control('GET', `people/${number.slice(1)}`)).received
  const send = async ({ number }: Person, message: object): Promise<string> =>
    (await call('POST', '/open/msgapp/send-message', { from_number: ours, to_number: number, ...message })).message_uuid
  const message = async ({ number }: Person, uuid: string) =>
    (await call('GET', `/open/msgapp/message/WW-${channel}-${number.slice(1)}@c.us/${uuid}`)).message
  const failed = (to: Person, uuid: string) => until(async () => (await message(to, uuid)).failure)
  const acked = (to: Person, uuid: string, level: number) =>
    until(async () => (await message(to, uuid)).wa_msg_ack >= level)

  const post = (body: string, signature: string | null, type = 'application/json') =>
    fetch(callback, {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...(signature === null ? {} : { 'x-hub-signature-256': signature }) },
    })
  const signed = (body: string, secret = appSecret) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const notice = (value: object) =>
    JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [
        {
          id: '1',
          changes: [{ field: 'messages', value: { metadata: { display_phone_number: ours.slice(1) }, ...value } }],
        },
      ],
    })

  test('a number that the business account lists is a verified caller ID of its one account; an unlisted one is not', async () => {
    const verified = async () =>
      (await call('GET', '/open/voip/caller-ids')).caller_ids
        .filter((one: { verified: boolean }) => one.verified)
        .map((one: { phone_number: string }) => one.phone_number)
    assert.deepEqual(await verified(), [ours])
    const unlisted = { phone_number: '+447700900399', connection }
    const { uuid } = (await call('POST', '/open/msgapp/channel/create', unlisted)).channel
    await until(async () => (await call('GET', `/open/msgapp/channel/${uuid}/status`)).reason.includes('number'))
    assert.deepEqual(await verified(), [ours])
    await call('DELETE', `/open/msgapp/channel/${uuid}`)
  })

  test('only a request with the verify token is answered the challenge', async () => {
    const ask = async (token: string, path = callback) => {
      const query = new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '42' })
      const answer = await fetch(`${path}?${query}`)
      return [answer.status, answer.status === 200 && (await answer.text())]
    }
    assert.deepEqual(await ask(verifyToken), [200, '42'])
    assert.deepEqual(await ask('other words'), [401, false])
    const elsewhere = `${platform.url}/callbacks/msgapp/CNX01a1fcca-93ab-7cbc-9f10-be702f775479`
    assert.deepEqual(await ask(verifyToken, elsewhere), [401, false])
  })

  test('a callback that is not signed with the app’s secret, byte for byte, is rejected', async () => {
    const ada = await newPerson()
    const body = notice({
      messages: [{ from: ada.number.slice(1), id: 'wamid.forged', type: 'text', text: { body: 'Psst' } }],
    })
    const statuses = [
      await post(body, null),
      await post(body, signed(body, 'another secret')),
      await post(`${body} `, signed(body)),
      await post(body, 'sha256='),
    ].map(({ status }) => status)
    assert.deepEqual(statuses, [401, 401, 401, 401])
    assert.equal((await post('no JSON', signed('no JSON'))).status, 400)
    assert.equal((await post(body, signed(body), 'text/plain')).status, 200)
    assert.deepEqual(
      (await call('GET', ada.path)).messages.map((one: { wa_msg_id: string }) => one.wa_msg_id),
      ['wamid.forged'],
    )
  })

  test('a repeated callback, also one with messages and receipts together, changes nothing', async () => {
    const ada = await newPerson()
    const event = await hear('msgapp.message.received')
    await graph.fault('twice')
    await write(ada, { text: 'Once' })
    const { bodies } = await graph.control('GET', 'told')
    const raw = bodies.at(-1)
    assert.equal((await post(raw, signed(raw))).status, 200)
    await write(ada, { text: 'Then' })
    await until(async () => event.find((body) => body.message.text === 'Then'))
    assert.deepEqual(
      event.map((body) => body.message.text),
      ['Once', 'Then'],
    )
  })

  test('a person without a number is known by the network’s id, and by the number once it is known', async () => {
    const ada = await newPerson({ hidden: true })
    const event = await hear('msgapp.message.received')
    await write(ada, { text: 'Guess who' })
    const hers = await until(async () => event.find((body) => body.message.text === 'Guess who'))
    assert.equal(hers.remote_phone_number, undefined)
    assert.equal(hers.remote_id, ada.user)
    const digits = ada.number.slice(1)
    const body = notice({
      messages: [{ from: digits, from_user_id: ada.user, id: 'wamid.shown', type: 'text', text: { body: 'It is me' } }],
    })
    assert.equal((await post(body, signed(body))).status, 200)
    assert.equal((await call('GET', ada.path)).messages.length, 2)
  })

  test('an old Mexican or Brazilian id is mapped to the current number', async () => {
    const event = await hear('msgapp.message.received')
    const people = {
      '5215512345678': '+525512345678',
      '551187654321': '+5511987654321',
      '5411987654321': '+5411987654321',
    }
    for (const [from, number] of Object.entries(people)) {
      const body = notice({ messages: [{ from, id: `wamid.${from}`, type: 'text', text: { body: from } }] })
      await post(body, signed(body))
      await until(async () => event.find((one) => one.remote_phone_number === number && one.message.text === from))
    }
  })

  test('an unsupported message type is described in words, and a reaction is stored with its message', async () => {
    const ada = await newPerson()
    const { id } = await write(ada, { content: { type: 'button', button: { text: 'Yes please', payload: 'yes' } } })
    await write(ada, {
      content: { type: 'contacts', contacts: [{ name: { formatted_name: 'Bob' }, phones: [{ phone: '+44 1' }] }] },
    })
    await write(ada, { content: { type: 'order', order: { catalog_id: '1' } } })
    await write(ada, { content: { type: 'location', location: { latitude: 51.5, longitude: -0.125, name: 'Here' } } })
    await write(ada, { content: { type: 'reaction', reaction: { message_id: id, emoji: '👍' } } })
    const { messages } = await call('GET', ada.path)
    const texts = messages.map((one: { message: { text?: string } }) => one.message.text ?? null)
    assert.deepEqual(texts.toSorted(), ['(an order)', 'Bob +44 1', 'Yes please', null].toSorted())
    assert.ok(messages.some((one: { message: { pin?: { name: string } } }) => one.message.pin?.name === 'Here'))
    const liked = messages.find((one: { wa_msg_id: string }) => one.wa_msg_id === id)
    assert.equal(liked.reactions[0].reaction, '👍')
  })

  test('a message to a person who did not write for 24 hours fails with the network’s code', async () => {
    const ada = await newPerson({ open: false })
    const uuid = await send(ada, { text: 'Long time no see' })
    assert.equal((await failed(ada, uuid)).code, '131047')
    assert.deepEqual(await seen(ada), [])
    await write(ada, { text: 'I am here' })
    await acked(ada, await send(ada, { text: 'Good' }), 2)
  })

  test('a template goes to any recipient, and is shown as a template in the thread', async () => {
    const ada = await newPerson({ open: false })
    const template = { name: 'appointment_tomorrow', language: 'en_GB', parameters: ['Ada', '10:30'] }
    const uuid = await send(ada, { template })
    await acked(ada, uuid, 2)
    assert.deepEqual((await message(ada, uuid)).message, { template })
    assert.equal((await seen(ada))[0].template, template.name)
    const { requests } = await graph.control('GET', 'log')
    const sent = JSON.parse(requests.findLast(({ path }: { path: string }) => path.endsWith('/messages')).body)
    const parameters = template.parameters.map((text) => ({ type: 'text', text }))
    assert.deepEqual(sent.template, {
      name: template.name,
      language: { code: 'en_GB' },
      components: [{ type: 'body', parameters }],
    })
    const components = [{ type: 'header', parameters: [{ type: 'image', image: { id: '1' } }] }]
    const whole = await send(ada, { template: { name: 'with_a_picture', language: 'en', components } })
    await acked(ada, whole, 2)
    assert.deepEqual((await message(ada, whole)).message.template.components, components)
    const refused = async (more: object) => {
      const body = { from_number: ours, to_number: ada.number, template, ...more }
      const answer = await platform.call('POST', '/open/msgapp/send-message', body)
      return [answer.status, answer.body.error_message]
    }
    assert.deepEqual(await refused({ text: 'And this' }), [400, 'A template cannot be combined with text, url or pin'])
    assert.equal((await refused({ template: { ...template, components } }))[0], 400)
    const [status, why] = await refused({
      from_number: (await call('GET', '/open/msgapp/get-numbers')).numbers.at(-1).phone_number,
    })
    assert.deepEqual([status, /no templates/.test(why)], [406, true])
  })

  test('receipts that arrive before the answer, or out of order, end at the highest', async () => {
    const ada = await newPerson()
    await graph.fault('backwards', { times: 2 })
    const uuid = await send(ada, { text: 'Backwards' })
    await acked(ada, uuid, 2)
  })

  test('a message whose answer was lost is not sent again once the network reported it', async () => {
    const ada = await newPerson()
    await graph.fault('lose-answer', { method: 'POST', path: '/messages' })
    const uuid = await send(ada, { text: 'Only once' })
    await acked(ada, uuid, 2)
    await send(ada, { text: 'After it' })
    await until(async () => (await seen(ada)).length > 1)
    assert.deepEqual(
      (await seen(ada)).map((one: { text: string }) => one.text),
      ['Only once', 'After it'],
    )
  })

  test('a rate limit is waited out as long as the network says, and an invalid message fails with its code', async () => {
    const ada = await newPerson()
    await graph.fault('error', { method: 'POST', path: 'messages', code: 130429, status: 429, seconds: 2 })
    const began = performance.now()
    await acked(ada, await send(ada, { text: 'Patience' }), 1)
    assert.ok(performance.now() - began >= 1_900)
    assert.equal((await seen(ada)).length, 1)
    await graph.fault('error', { method: 'POST', path: 'messages', code: 131008, status: 400 })
    assert.equal((await failed(ada, await send(ada, { text: 'Wrong' }))).code, '131008')
  })

  test('a picture and an about text are set in the business profile', async () => {
    const image = Buffer.from('89504e470d0a1a0a00', 'hex')
    const url = hooks.file(image, 'image/png', 'me.png')
    await call('POST', `/open/msgapp/set-profile-picture/${ours}`, { url })
    await call('POST', `/open/msgapp/set-status/${ours}`, { status: 'Open until six' })
    const digest = createHash('sha256').update(image).digest('hex')
    await until(async () => {
      const { picture, about } = await graph.control('GET', `profile/${ours.slice(1)}`)
      return picture === digest && about === 'Open until six'
    })
  })

  test('an unsupported operation is rejected before any request to the network', async () => {
    const group = { name: 'Book club', participants: ['+447400150001'] }
    const created = await platform.call('POST', '/open/msgapp/group/create', { from_number: ours, group })
    assert.equal(created.status, 406)
    assert.match(created.body.error_message, /Groups API/)
    const { body } = await platform.call('GET', `/open/msgapp/check-number/${ours}/+447400150001`)
    assert.deepEqual([body.on_msgapp, body.on_msgapp_unknown], [undefined, true])
  })

  test('a rejected token ends the channel with the reason, until it is replaced', async () => {
    const path = `/operator/connections/${connection}`
    await call('PATCH', path, { settings: { access_token: 'an old token' } })
    assert.match((await stands('F')).reason, /access token is refused/)
    await call('PATCH', path, { settings: { access_token: graph.settings.access_token } })
    await stands('C')
  })
})
