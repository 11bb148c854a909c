import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { type Prosody, startProsody, until } from '../../../test/prosody.ts'
import { find, openXmppClient } from '../../../test/xmpp-client.ts'
import { line, link, makeVault, outgoing, recordEvents, settingsFor } from './xmpp-testing.ts'

const receiptRequest = "<request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/>"

/**
 * Parties of a case: numbers and our address. Each case has its own, because archives are read from the second one on.
 */
type Who = { readonly ours: string; readonly theirs: string; readonly me: string }

type Case = (t: TestContext, server: Prosody, who: Who) => Promise<void>

const who = (index: number): Who => {
  const [ours, theirs] = [`+1555000${index}001`, `+1555000${index}002`]
  return { ours, theirs, me: `${ours.slice(1)}@localhost` }
}

/** A linked number of ours, and a friend with a client. */
const both = async (t: TestContext, server: Prosody, { ours, theirs }: Who) => {
  const seen = recordEvents()
  const us = line(ours)
  const network = await link(t, settingsFor('client', server), seen, [us])
  return { seen, us, network, friend: await openXmppClient(t, server, theirs.slice(1)) }
}

const outAndRead: Case = async (t, server, parties) => {
  const { theirs, me } = parties
  const { seen, us, network, friend } = await both(t, server, parties)
  const sent = await network.send(us.channel, outgoing('a1', 'Grüße & <b>', theirs))
  const got = await friend.wait('the text', (node) => find(node, 'body')?.text === 'Grüße & <b>')
  assert.ok(find(got, 'request', { xmlns: 'urn:xmpp:receipts' }))
  const { id = '' } = got.attrs
  assert.equal(sent.outcome === 'done' && sent.value.id, id)
  friend.write(`<message to='${me}'><received xmlns='urn:xmpp:receipts' id='${id}'/></message>`)
  friend.write(`<message to='${me}'><displayed xmlns='urn:xmpp:chat-markers:0' id='${id}'/></message>`)
  await until('both receipts', () => seen.receipts.length === 2)
  const levels = seen.receipts.map(({ level, id: about }) => `${level} ${about}`)
  assert.deepEqual(levels, [`2 ${id}`, `3 ${id}`])
}

const receiptAfterCommit: Case = async (t, server, parties) => {
  const { ours, theirs, me } = parties
  const gate = Promise.withResolvers<void>()
  const seen = recordEvents(undefined, () => gate.promise)
  const us = line(ours)
  const network = await link(t, settingsFor('client', server), seen, [us])
  const friend = await openXmppClient(t, server, theirs.slice(1))
  friend.sendChat(me, 'hello', 'm1', receiptRequest)
  friend.sendChat(me, 'hello', 'm1', receiptRequest)
  assert.equal(await network.ping(us.channel), true)
  assert.equal(friend.stanzas.filter((node) => find(node, 'received')).length, 0)
  gate.resolve()
  await friend.wait('a receipt', (node) => find(node, 'received', { id: 'm1' }) !== undefined)
  const [message] = seen.inbound
  assert.equal(seen.inbound.length, 1)
  assert.equal(message?.text, 'hello')
  assert.equal(message?.from.number, theirs)
  assert.equal(message?.id, `${theirs.slice(1)}@localhost/m1`)
  await network.markRead?.(us.channel, { number: theirs, remote: null }, [message?.id ?? ''], [])
  await friend.wait('the marker', (node) => find(node, 'displayed', { id: 'm1' }) !== undefined)
}

const contents: Case = async (t, server, parties) => {
  const { theirs, me } = parties
  const { seen, us, network, friend } = await both(t, server, parties)
  const url = 'https://files.example/a%20b.jpg?x=1'
  const shared = `<x xmlns='jabber:x:oob'><url>${url}</url></x>`
  friend.sendChat(me, url, 'c1', shared)
  friend.sendChat(me, 'look', 'c2', shared)
  friend.sendChat(me, 'geo:51.5,-0.12;u=9', 'c3')
  friend.sendChat(me, 'typo', 'c4')
  friend.sendChat(me, 'no typo', 'c5', "<replace xmlns='urn:xmpp:message-correct:0' id='c4'/>")
  const html =
    "<html xmlns='http://jabber.org/protocol/xhtml-im'><body xmlns='http://www.w3.org/1999/xhtml'><p>evil</p></body></html>"
  friend.sendChat(me, 'plain', 'c6', html)
  friend.sendChat(me, 'this one', 'c9', `<reply xmlns='urn:xmpp:reply:0' to='${me}' id='c2'/>`)
  await until('a reply', () => seen.inbound.some(({ text }) => text === 'this one'))
  await until('all of it', () => seen.inbound.some(({ text }) => text === 'plain') && seen.edits.length === 1)
  const of = (id: string) => seen.inbound.find((one) => one.id === `${theirs.slice(1)}@localhost/${id}`)
  assert.deepEqual(of('c1')?.media, {
    ref: { url },
    type: 'image',
    mimeType: 'image/jpeg',
    name: 'a b.jpg',
    size: null,
  })
  assert.equal(of('c1')?.text, null)
  assert.equal(of('c2')?.text, 'look')
  assert.deepEqual(of('c3')?.pin, { latitude: 51.5, longitude: -0.12 })
  assert.equal(of('c6')?.text, 'plain')
  assert.equal(of('c9')?.quoted, `${theirs.slice(1)}@localhost/c2`)
  assert.equal(seen.edits[0]?.id, `${theirs.slice(1)}@localhost/c4`)
  assert.equal(seen.edits[0]?.text, 'no typo')

  await network.send(us.channel, outgoing('c7', 'ours', theirs))
  const reactions = "<reactions xmlns='urn:xmpp:reactions:0' id='tl-c7'><reaction>👍</reaction></reactions>"
  friend.write(`<message type='chat' to='${me}' id='c8'>${reactions}</message>`)
  await until('a reaction', () => seen.reactions.length === 1)
  assert.deepEqual([seen.reactions[0]?.id, seen.reactions[0]?.emoji], ['tl-c7', '👍'])
  const removed = await network.remove?.(us.channel, { number: theirs, remote: null }, 'tl-c7')
  assert.deepEqual(removed, { outcome: 'done', value: 'everyone' })
  await friend.wait('the retraction', (node) => find(node, 'retract', { id: 'tl-c7' }) !== undefined)
}

const otherDevice: Case = async (t, server, parties) => {
  const { ours, theirs, me } = parties
  const { seen, us, network, friend } = await both(t, server, parties)
  const device = await openXmppClient(t, server, ours.slice(1), { resource: 'tablet' })
  device.sendChat(friend.jid, 'from the tablet', 'd1')
  await until('the copy', () => seen.inbound.length === 1)
  const [message] = seen.inbound
  assert.deepEqual([message?.own, message?.id, message?.from.number], [true, 'd1', theirs])
  await network.send(us.channel, outgoing('d2', 'ours', theirs))
  friend.sendChat(`${me}/tablet`, 'to the tablet alone', 'd3')
  await until('the other copy', () => seen.inbound.length === 2)
  assert.deepEqual([seen.inbound[1]?.own, seen.inbound[1]?.text], [false, 'to the tablet alone'])
  // Only our own account may report its sent messages.
  const inner = `<message from='${me}/x' to='${friend.jid}' id='forged'><body>forged</body></message>`
  const forged = `<sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>${inner}</forwarded></sent>`
  friend.write(`<message type='chat' to='${me}' id='d4'>${forged}</message>`)
  friend.sendChat(me, 'after', 'd5')
  await until('what came after', () => seen.inbound.some(({ text }) => text === 'after'))
  assert.deepEqual(seen.inbound.map(({ text }) => text).includes('forged'), false)
}

const unknownSender: Case = async (t, server, parties) => {
  const { seen, us, network } = await both(t, server, parties)
  const sent = await network.send(us.channel, outgoing('n1', 'anybody?', '+15550009999'))
  assert.equal(sent.outcome, 'done')
  await until('the failure', () => seen.failures.length === 1)
  assert.deepEqual([seen.failures[0]?.id, seen.failures[0]?.code], ['tl-n1', 'service-unavailable'])
}

const archive: Case = async (t, server, parties) => {
  const { ours, theirs, me } = parties
  const vault = makeVault()
  const seen = recordEvents(vault)
  const us = line(ours)
  const first = await link(t, settingsFor('client', server), seen, [us])
  await until('it is sent', async () => {
    const sent = await first.send(us.channel, outgoing('r1', 'sent before', theirs))
    return sent.outcome === 'done'
  })
  const friend = await openXmppClient(t, server, theirs.slice(1))
  await first.close()
  // The server needs a moment to notice. Until then it delivers to the closed session.
  for (let isGone = false; !isGone; )
    isGone = (await friend.request('get', `${me}/trunkline`, "<ping xmlns='urn:xmpp:ping'/>")).attrs.type === 'error'
  const many = Array.from({ length: 120 }, (_, index) => `missed ${index}`)
  for (const [index, text] of many.entries()) friend.sendChat(me, text, `r${index + 10}`)
  await friend.request('get', 'localhost', "<ping xmlns='urn:xmpp:ping'/>")
  const again = recordEvents(vault)
  const second = await link(t, settingsFor('client', server), again, [us])
  await until('all that was missed', () => again.inbound.length >= many.length)
  assert.deepEqual(
    again.inbound.filter(({ text }) => text?.startsWith('missed')).map(({ text }) => text),
    many,
  )
  // The second process knows the messages of the first, so a repeated send has no effect.
  const before = friend.texts().length
  await until('it is said to be sent', async () => {
    const sent = await second.send(us.channel, outgoing('r1', 'sent before', theirs))
    return sent.outcome === 'done'
  })
  await friend.request('get', 'localhost', "<ping xmlns='urn:xmpp:ping'/>")
  assert.equal(friend.texts().length, before)
  assert.ok(!again.inbound.some(({ id }) => id.startsWith('tl-')))
}

const calls: Case = async (t, server, parties) => {
  const { theirs, me } = parties
  const { seen, friend } = await both(t, server, parties)
  const offer = "<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='video'/>"
  friend.write(
    `<message to='${me}' type='chat'><propose xmlns='urn:xmpp:jingle-message:0' id='k1'>${offer}</propose></message>`,
  )
  friend.write(`<message to='${me}' type='chat'><retract xmlns='urn:xmpp:jingle-message:0' id='k1'/></message>`)
  await until('both', () => seen.calls.length === 2)
  const callEvents = seen.calls.map(({ id, state, video, from }) => [id, state, video, from.number])
  assert.deepEqual(callEvents, [
    ['k1', 'offered', true, theirs],
    ['k1', 'ended', false, theirs],
  ])
  const jingle =
    "<jingle xmlns='urn:xmpp:jingle:1' action='session-initiate' sid='k2'><content name='a' creator='initiator'><description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/></content></jingle>"
  const answer = await friend.request('set', `${me}/trunkline`, jingle)
  assert.equal(answer.attrs.type, 'result')
  await friend.wait('the end', (node) => find(node, 'jingle', { action: 'session-terminate' }) !== undefined)
  assert.deepEqual([seen.calls[2]?.id, seen.calls[2]?.video], ['k2', false])
}

const callsFromElsewhere: Case = async (t, server, parties) => {
  const { ours, theirs, me } = parties
  const { seen, friend } = await both(t, server, parties)
  const tablet = await openXmppClient(t, server, ours.slice(1), { resource: 'tablet' })
  const signal = (name: string, id: string, inner = '') =>
    `<${name} xmlns='urn:xmpp:jingle-message:0' id='${id}'>${inner}</${name}>`
  const offer = signal('propose', 'o1', "<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/>")
  tablet.write(`<message to='${friend.jid}' type='chat'>${offer}</message>`)
  await until('the call', async () => seen.calls.length === 1)
  friend.write(`<message to='${me}' type='chat'>${signal('finish', 'o1')}</message>`)
  await until('its end', async () => seen.calls.length === 2)
  const callEvents = seen.calls.map(({ id, own, state, answered, from }) => [id, own, state, answered, from.number])
  assert.deepEqual(callEvents, [
    ['o1', true, 'offered', undefined, theirs],
    ['o1', false, 'ended', true, theirs],
  ])
}

const cases: Readonly<Record<string, Case>> = {
  'a sent message is received and then read': outAndRead,
  'an inbound message arrives once, is receipted after it is persisted, and is marked when read': receiptAfterCommit,
  'files, locations, corrections and reactions are parsed, markup is ignored': contents,
  'messages of another device of the account are reported; forged copies are rejected': otherDevice,
  'a message to a missing account fails with the reason': unknownSender,
  'missed messages are read from the archive, and sent messages are not sent twice': archive,
  'a call is reported when it is offered and when it ends': calls,
  'a call of another device of the account is reported as ours': callsFromElsewhere,
}

test('a number with a login of its own', needs('prosody'), async (t) => {
  const parties = Object.keys(cases).map((_, index) => who(index))
  const users = parties.flatMap(({ ours, theirs }) => [ours.slice(1), theirs.slice(1)])
  const server = await startProsody(t, users)
  for (const [index, [name, run]] of Object.entries(cases).entries()) {
    await t.test(name, (inner) => run(inner, server, who(index)))
  }
})
