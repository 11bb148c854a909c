import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Platform, startPlatform, until } from '../../../../test/platform.ts'
import { appSecret, type GraphApi, startGraph, verifyToken } from '../../../../test/whatsapp-cloud/graph.ts'

// Numbers in forms that a numbering plan replaced: WhatsApp keeps the form of a sign-up.

const shop = { shown: '+554191230001', number: '+5541991230001' }
const office = { shown: '+5215512345678', number: '+525512345678' }

describe('numbers of WhatsApp in old forms', { timeout: 120_000 }, () => {
  let platform: Platform
  let graph: GraphApi
  let callback: string
  const channels = new Map<string, string>()

  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  before(async () => {
    platform = await startPlatform()
    graph = await startGraph()
    for (const { shown } of [shop, office]) await graph.control('POST', 'phones', { number: shown, name: 'Our shop' })
    const { account } = await call('GET', '/open/info')
    const made = { kind: 'whatsapp-cloud', name: 'shop', settings: graph.settings, account_uuids: [account.uuid] }
    const connection = (await call('POST', '/operator/connections', made)).connection.uuid
    callback = `${platform.url}/callbacks/msgapp/${connection}`
    await graph.control('POST', 'callback', { url: callback, verify_token: verifyToken })
    // One is created in the current form, the other in the old one, as Graph shows it.
    for (const phone_number of [shop.number, office.shown]) {
      const { channel } = await call('POST', '/open/msgapp/channel/create', { phone_number, connection })
      channels.set(channel.phone_number, channel.uuid)
    }
  })
  after(async () => {
    await platform.end()
    await graph.stop()
  })

  const statusOf = async (number: string) =>
    (await call('GET', `/open/msgapp/channel/${channels.get(number)}/status`)).connection_status

  const post = async (metadata: object, value: object) => {
    const change = { field: 'messages', value: { metadata, ...value } }
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] })
    const signature = `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
    assert.equal((await fetch(callback, { method: 'POST', body, headers })).status, 200)
  }
  const display = { display_phone_number: shop.shown.slice(1) }
  const text = (from: string, id: string, body = 'Oi') => ({
    messages: [{ from, id, timestamp: '1700000000', type: 'text', text: { body } }],
  })
  const messagesOf = async (path: string) => (await call('GET', `/open/msgapp/messages/${path}`)).messages
  const conversationOf = (test: (one: { counterpart: string; last: { text: string } }) => boolean) =>
    until(async () => (await call('GET', '/open/conversations')).conversations.find(test))

  test('a channel is connected whichever form its number has here and at the network', async () => {
    assert.deepEqual([...channels.keys()], [shop.number, office.number])
    for (const number of channels.keys()) await until(async () => (await statusOf(number)) === 'C')
    // Each form names the same channel.
    for (const { shown, number } of [shop, office])
      for (const form of [shown, number]) assert.deepEqual(await messagesOf(form), [])
  })

  test('an inbound message is stored for the id of the number, whatever its display text', async () => {
    await until(async () => (await statusOf(shop.number)) === 'C')
    const { base_url, business_account_id, access_token } = graph.settings
    const listed = await fetch(`${base_url}/v23.0/${business_account_id}/phone_numbers`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    const seen: { id: string; display_phone_number: string }[] = JSON.parse(await listed.text()).data
    const id = seen.find((one) => one.display_phone_number.replace(/\D/g, '') === shop.shown.slice(1))?.id
    assert.ok(id)
    await post({ phone_number_id: id, display_phone_number: '15550001111' }, text('447400150001', 'wamid.by-id'))
    await post(display, text('447400150001', 'wamid.by-old-form'))
    const ids = (await messagesOf(shop.number)).map((one: { wa_msg_id: string }) => one.wa_msg_id)
    assert.deepEqual(ids.toSorted(), ['wamid.by-id', 'wamid.by-old-form'])
  })

  test('a person has one conversation and the name of the contact in any form, and is answered in that of the network', async () => {
    const [old, current] = ['+554191239999', '+5541991239999']
    const details = [{ type: 'PH', value: old }]
    const { contact } = await call('POST', '/open/contacts', { first_name: 'Lia', contact_details: details })
    assert.equal(contact.details[0].value, current)
    await graph.control('POST', 'people', { number: old, open: true })
    await graph.control('POST', 'write', { number: old, to: shop.shown, text: 'Oi' })
    const key = `WW-${channels.get(shop.number)}-`
    const lists = await Promise.all(
      [old, current, `${old.slice(1)}@c.us`].map((form) =>
        until(async () => {
          const found = await messagesOf(`${shop.number}/${form}`)
          return found.length > 0 && found
        }),
      ),
    )
    for (const [message] of lists) {
      assert.equal(message.remote_phone_number, current)
      assert.equal(message.contact.first_name, 'Lia')
      assert.equal(message.session_key, `${key}${current.slice(1)}@c.us`)
      for (const form of [old, current]) {
        const path = `/open/msgapp/message/${key}${form.slice(1)}@c.us/${message.uuid}`
        assert.equal((await call('GET', path)).message.uuid, message.uuid)
      }
    }
    for (const to_number of [old, current])
      await call('POST', '/open/msgapp/send-message', { from_number: shop.shown, to_number, text: `to ${to_number}` })
    const { requests } = await until(async () => {
      const log: { requests: { body: string }[] } = await graph.control('GET', 'log')
      return log.requests.filter(({ body }) => body.includes('"text":{"body":"to ')).length === 2 && log
    })
    for (const { body } of requests)
      if (body.includes('"text":{"body":"to ')) assert.equal(JSON.parse(body).to, old.slice(1))
    const { sessions } = await call(
      'GET',
      `/open/msgapp/conversations/${channels.get(shop.number)}?phone_number=${encodeURIComponent(old)}`,
    )
    assert.deepEqual(
      sessions.map((one: { remote_phone_number: string }) => one.remote_phone_number),
      [current],
    )
    const shown = await conversationOf(({ counterpart }) => counterpart === current)
    assert.equal(shown.name, 'Lia')
  })

  test('a person of Argentina is the same with and without the 9', async () => {
    const [bare, mobile] = ['+541123456789', '+5491123456789']
    const details = [{ type: 'PH', value: bare }]
    await call('POST', '/open/contacts', { first_name: 'Ana', contact_details: details })
    await post(display, text(mobile.slice(1), 'wamid.ar'))
    const [message] = await messagesOf(`${shop.number}/${bare}`)
    assert.equal(message.wa_msg_id, 'wamid.ar')
    assert.equal(message.contact.first_name, 'Ana')
    const shown = await conversationOf(({ counterpart }) => counterpart === mobile)
    assert.equal(shown.name, 'Ana')
    assert.equal(
      (await platform.call('POST', '/open/conversations', { number: bare })).body.conversation.uuid,
      shown.uuid,
    )
  })

  test('after a changed number the contact has the new one, and the conversation goes on with a line that says so', async () => {
    const [before, number] = ['+447911220001', '+447911220002']
    const details = [
      { type: 'PH', value: before },
      { type: 'E', value: 'ben@example.com' },
    ]
    const { contact } = await call('POST', '/open/contacts', { first_name: 'Ben', contact_details: details })
    await post(display, text(before.slice(1), 'wamid.before', 'Before'))
    const { uuid } = await conversationOf(({ counterpart }) => counterpart === before)
    const system = {
      body: 'User A changed from \u200e447911220001 to 447911220002\u200e',
      wa_id: number.slice(1),
      type: 'user_changed_number',
    }
    const message = { from: before.slice(1), id: 'wamid.system', timestamp: '1700000001', type: 'system', system }
    for (const _ of [1, 2]) await post(display, { messages: [message] })
    const values = (await call('GET', `/open/contacts/${contact.uuid}`)).contact.details
    assert.deepEqual(values.map((one: { value: string }) => one.value).toSorted(), [number, 'ben@example.com'])
    await post(display, text(number.slice(1), 'wamid.after', 'After'))
    const shown = await conversationOf(({ last }) => last.text === 'After')
    assert.deepEqual([shown.uuid, shown.counterpart, shown.name], [uuid, number, 'Ben'])
    const { items } = await call('GET', `/open/conversations/${uuid}/items`)
    assert.deepEqual(
      items
        .toReversed()
        .map(
          (one: { change?: object; message?: { message: { text: string } } }) =>
            one.change ?? one.message?.message.text,
        ),
      ['Before', { field: 'number', from: before, to: number }, 'After'],
    )
    // The former session key still leads to the messages.
    assert.equal((await messagesOf(`${shop.number}/${before}`)).length, 2)
  })
})
