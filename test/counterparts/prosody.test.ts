import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { find, openXmppClient } from '../xmpp-client.ts'
import { openContact } from '../xmpp-contact.ts'
import { type Mode, startProsodyPlatform } from './prosody-platform.ts'

// XMPP tests that go further than the suite of every network (src/domains/msgapp/networks/prosody.test.ts): duplicate messages, and a
// server that is killed mid-session.

const outage = (mode: Mode) =>
  test(`Prosody is killed and started again: nothing is lost or doubled (${mode})`, needs('prosody'), async (t) => {
    const stage = await startProsodyPlatform(mode)
    t.after(stage.end)
    const { server, call, me, channel } = stage
    const [number = ''] = stage.numbers
    const friend = await openContact(t, server, { number, me, roomOf: stage.roomOf })
    const raw = await openXmppClient(t, server, number.slice(1), { resource: 'another' })
    const send = async (text: string) => {
      const sent = await call('POST', '/open/msgapp/send-message', {
        from_number: channel.number,
        to_number: number,
        text,
      })
      assert.equal(sent.status, 202, JSON.stringify(sent.body))
    }
    const thread = async (): Promise<{ wa_msg_ack: number; message: { text: string } }[]> =>
      (await call('GET', `/open/msgapp/messages/${channel.number}/${number}?results_per_page=200`)).body.messages
    const stands = (status: string, seconds: number) =>
      until(
        async () =>
          (await call('GET', `/open/msgapp/channel/${channel.uuid}/status`)).body.connection_status === status,
        seconds,
      )

    for (const _ of [1, 2]) raw.sendChat(me, 'said twice', 't1', "<request xmlns='urn:xmpp:receipts'/>")
    await raw.wait('the receipt', (node) => find(node, 'received', { id: 't1' }) !== undefined)
    assert.deepEqual(
      (await thread()).map(({ message }) => message.text),
      ['said twice'],
    )

    const texts = Array.from({ length: 20 }, (_, index) => `out ${index + 10}`)
    for (const text of texts.slice(0, 10)) await send(text)
    await until(async () => (await friend.seen()).some(({ text }) => text === 'out 13'))
    raw.sendChat(me, 'before the end', 'o1')
    // The server has the message once it answers a later request.
    await raw.request('get', 'localhost', "<ping xmlns='urn:xmpp:ping'/>")
    await server.stop('SIGKILL')
    for (const text of texts.slice(10)) await send(text)
    await stands('D', 15)
    await server.start()
    await stands('C', 30)
    const again = await openXmppClient(t, server, number.slice(1), { resource: 'again' })
    // While a component is away, senders receive an error and send again.
    if (mode === 'component') again.sendChat(me, 'before the end', 'o1')
    const own = async () => (await thread()).filter(({ message }) => message.text?.startsWith('out '))
    await until(async () => (await own()).every(({ wa_msg_ack }) => wa_msg_ack >= 1), 30)
    const paging = "<set xmlns='http://jabber.org/protocol/rsm'><max>200</max></set>"
    await again.request('set', null, `<query xmlns='urn:xmpp:mam:2'>${paging}</query>`)
    const archived = again.stanzas.flatMap((node) => {
      const message = find(node, 'message')
      const text = find(message, 'body')?.text ?? ''
      return text.startsWith('out ') ? [`${message?.attrs.id} ${text}`] : []
    })
    // A resent message has the same id, so it is shown once.
    assert.deepEqual([...new Set(archived)].map((one) => one.replace(/^\S+ /, '')).sort(), texts)
    assert.ok(archived.length <= texts.length + (mode === 'client' ? 1 : 10))
    await until(async () => (await thread()).some(({ message }) => message.text === 'before the end'))
    assert.equal((await thread()).length, 1 + texts.length + 1)
  })

for (const mode of ['client', 'component'] as const) outage(mode)
