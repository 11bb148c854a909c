import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { needs } from '../../../test/needs.ts'
import { component, type Prosody, startProsody, until } from '../../../test/prosody.ts'
import { find, openXmppClient, type XmppClient } from '../../../test/xmpp-client.ts'
import type { ChatNetwork } from '../../ports/chat.ts'
import { line, link, makeVault, outgoing, type RecordedEvents, recordEvents, settingsFor } from './xmpp-testing.ts'

// Groups, pictures, checks, files and contacts, in both modes.

const ours = '+15550000001'
const friends = ['15550000002', '15550000003']
const stranger = '+15550009999'

type Scene = {
  readonly network: ChatNetwork
  readonly seen: RecordedEvents
  readonly channel: string
  /** Our own address. */
  readonly me: string
  readonly friend: XmppClient
  readonly other: XmppClient
  readonly isComponent: boolean
}

type Case = (scene: Scene, t: TestContext, server: Prosody) => Promise<void>

const enter = async (who: XmppClient, room: string): Promise<void> => {
  await who.wait('the invitation', (node) => node.attrs.from === room && find(node, 'invite') !== undefined)
  who.write(`<presence to='${room}/${who.jid.split('@')[0]}'><x xmlns='http://jabber.org/protocol/muc'/></presence>`)
  await who.wait('the group', (node) => node.tag === 'presence' && find(node, 'status', { code: '110' }) !== undefined)
}

const groups: Case = async ({ network, seen, channel, friend, other, me }) => {
  const participants = [`+${friends[0]}`, stranger]
  const created = await network.createGroup?.(channel, { name: 'Team', description: 'we', participants })
  assert.ok(created?.outcome === 'done')
  const { id } = created.value
  assert.match(id, /^[0-9a-f]{20}@rooms\.localhost$/)
  assert.deepEqual(
    created.value.participants.map(({ number, code, invited }) => [number, code, invited]),
    [
      [`+${friends[0]}`, 200, false],
      [stranger, 404, false],
    ],
  )
  await enter(friend, id)
  const sent = await network.send(channel, { ...outgoing('g1', 'hello all', ''), to: { group: id } })
  assert.equal(sent.outcome, 'done')
  const got = await friend.wait('the text', (node) => find(node, 'body')?.text === 'hello all')
  const place = find(got, 'stanza-id', { by: id })?.attrs.id
  friend.write(`<message type='groupchat' to='${id}' id='f1'><body>hi you</body></message>`)
  friend.write(
    `<message type='groupchat' to='${id}' id='f2'><displayed xmlns='urn:xmpp:chat-markers:0' id='${place}'/></message>`,
  )
  await until(
    'the answer and the marker',
    () => seen.inbound.some(({ text }) => text === 'hi you') && seen.receipts.length > 0,
  )
  const answer = seen.inbound.find(({ text }) => text === 'hi you')
  assert.deepEqual([answer?.group, answer?.from.number, answer?.own], [{ id, name: 'Team' }, `+${friends[0]}`, false])
  const { level, id: about, by } = seen.receipts.at(-1) ?? {}
  assert.deepEqual([level, about, by?.number], [3, 'tl-g1', `+${friends[0]}`])

  const added = await network.changeGroup?.(channel, id, { act: 'add', numbers: [`+${friends[1]}`, `+${friends[0]}`] })
  assert.deepEqual(added?.outcome === 'done' && added.value.map(({ code }) => code), [200, 409])
  await enter(other, id)
  const promoted = await network.changeGroup?.(channel, id, { act: 'promote', numbers: [`+${friends[1]}`] })
  assert.deepEqual(promoted?.outcome === 'done' && promoted.value.map(({ code }) => code), [200])
  assert.equal((await network.changeGroup?.(channel, id, { act: 'description', text: 'all of us' }))?.outcome, 'done')
  const listed = await network.groups?.(channel)
  assert.ok(listed?.outcome === 'done')
  const group = listed.value.find((one) => one.id === id)
  assert.deepEqual([group?.name, group?.description, group?.readOnly], ['Team', 'all of us', false])
  const members = group?.members.map(({ number, admin, creator }) => [number, admin, creator])
  assert.deepEqual(members, [
    [ours, true, true],
    [`+${friends[1]}`, true, false],
    [`+${friends[0]}`, false, false],
  ])
  const removed = await network.changeGroup?.(channel, id, { act: 'remove', numbers: [`+${friends[1]}`] })
  assert.deepEqual(removed?.outcome === 'done' && removed.value.map(({ code }) => code), [200])
  await other.wait(
    'the way out',
    (node) => node.attrs.type === 'unavailable' && find(node, 'status', { code: '321' }) !== undefined,
  )

  // Another user's group: an invitation is accepted.
  const theirs = 'theirs@rooms.localhost'
  friend.write(`<presence to='${theirs}/boss'><x xmlns='http://jabber.org/protocol/muc'/></presence>`)
  await friend.wait('their group', (node) => find(node, 'status', { code: '201' }) !== undefined)
  const form = "<query xmlns='http://jabber.org/protocol/muc#owner'><x xmlns='jabber:x:data' type='submit'/></query>"
  await friend.request('set', theirs, form)
  friend.write(
    `<message to='${theirs}'><x xmlns='http://jabber.org/protocol/muc#user'><invite to='${me}'/></x></message>`,
  )
  await until('we are in', () => seen.groups.some(({ group, what }) => group === theirs && what === 'join'))
  friend.write(`<message type='groupchat' to='${theirs}' id='f3'><body>welcome</body></message>`)
  await until('the welcome', () => seen.inbound.some(({ text }) => text === 'welcome'))
  const kick = `<query xmlns='http://jabber.org/protocol/muc#admin'><item affiliation='outcast' jid='${me}'/></query>`
  await friend.request('set', theirs, kick)
  await until('we are out', () => seen.groups.some(({ group, what }) => group === theirs && what === 'remove'))
}

const picture: Case = async ({ network, channel, me, friend, isComponent }) => {
  const image = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(3_000)])
  const hash = createHash('sha1').update(image).digest('hex')
  assert.deepEqual(await network.setPicture?.(channel, image), { outcome: 'done', value: null })
  const items = (node: string) =>
    friend.request('get', me, `<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='${node}'/></pubsub>`)
  assert.equal(find(await items('urn:xmpp:avatar:metadata'), 'info')?.attrs.id, hash)
  const data = Buffer.from(find(await items('urn:xmpp:avatar:data'), 'data')?.text ?? '', 'base64')
  assert.ok(data.equals(image))
  const card = await friend.request('get', me, "<vCard xmlns='vcard-temp'/>")
  assert.ok(Buffer.from(find(card, 'BINVAL')?.text ?? '', 'base64').equals(image))
  assert.equal((await network.setPicture?.(channel, randomBytes(200_000)))?.outcome, 'refused')
  assert.equal((await network.setPicture?.(channel, null))?.outcome, 'done')
  assert.equal(find(await items('urn:xmpp:avatar:metadata'), 'info'), undefined)

  assert.equal((await network.setStatus?.(channel, 'open till 8'))?.outcome, 'done')
  friend.write(`<presence type='subscribe' to='${me}'/>`)
  await friend.wait('the status', ({ tag, attrs, children }) => {
    const isOurs = tag === 'presence' && attrs.from?.startsWith(me) === true
    return isOurs && children.some((one) => one.tag === 'status' && one.text === 'open till 8')
  })
  const contact = { number: `+${friends[0]}`, firstName: 'Ada', lastName: 'L' }
  assert.equal((await network.saveContact?.(channel, contact))?.outcome, isComponent ? 'refused' : 'done')
}

const checks: Case = async ({ network, channel, friend }) => {
  const card =
    "<vcard xmlns='urn:ietf:params:xml:ns:vcard-4.0'><kind><text>org</text></kind><fn><text>Ada’s Bakery</text></fn><note><text>Bread</text></note><url><uri>https://ada.example</uri></url></vcard>"
  const open =
    "<publish-options><x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'><value>http://jabber.org/protocol/pubsub#publish-options</value></field><field var='pubsub#access_model'><value>open</value></field></x></publish-options>"
  const published = `<pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='urn:xmpp:vcard4'><item id='current'>${card}</item></publish>${open}</pubsub>`
  assert.equal((await friend.request('set', null, published)).attrs.type, 'result')
  const before = friend.texts().length
  const found = await network.check?.(channel, [`+${friends[0]}`, stranger, ours], true)
  assert.deepEqual(
    found?.map(({ there, id }) => [there, id]),
    [
      ['yes', friends[0]],
      ['no', null],
      ['yes', ours.slice(1)],
    ],
  )
  assert.equal(found?.[0]?.pushname, 'Ada’s Bakery')
  assert.deepEqual(found?.[0]?.business, {
    short_name: 'Ada’s Bakery',
    description: 'Bread',
    website: ['https://ada.example'],
  })
  assert.equal(friend.texts().length, before)
}

const files: Case = async ({ network, channel, friend }) => {
  const body = randomBytes(70_000)
  const file = {
    type: 'image',
    mimeType: 'image/jpeg',
    name: 'cat picture.jpg',
    size: body.length,
    url: 'https://us.example/file',
    open: () => Readable.from([body]),
  } as const
  const to = { number: `+${friends[0]}`, remote: null }
  const sent = await network.send(channel, { id: 'u1', to, text: 'a cat', file, pin: null })
  assert.equal(sent.outcome, 'done')
  const got = await friend.wait('the file', (node) => node.attrs.id === 'tl-u1')
  const url = find(got, 'url')?.text ?? ''
  assert.equal(find(got, 'body')?.text, url)
  const answer = await fetch(url)
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(body))
  assert.ok(friend.texts().includes('a cat'))
  const pin = { latitude: 48.85, longitude: 2.35, name: 'Paris' }
  await network.send(channel, { id: 'u2', to, text: null, file: null, pin })
  const place = await friend.wait('the place', (node) => node.attrs.id === 'tl-u2')
  assert.equal(find(place, 'body')?.text, 'geo:48.85,2.35')
  assert.equal(find(place, 'lat')?.text, '48.85')
}

const cases: Readonly<Record<string, Case>> = {
  'groups are created, changed, listed and left; each participant has a code': groups,
  'a picture is published byte for byte and removed; the status is published': picture,
  'a check distinguishes existing from missing numbers and stays invisible': checks,
  'a file is uploaded to the server, and a location is delivered': files,
}

/**
 * @prop more with settings for an administrator that creates the account; without one, numbers are checked by probes
 */
const modes: Readonly<Record<string, Partial<XmppSettings> & Pick<XmppSettings, 'mode'>>> = {
  'a login of its own, made by the administrator': { mode: 'client', admin: 'admin', admin_password: 'of everybody' },
  'a login of its own, no administrator': { mode: 'client' },
  'a component with an administrator': { mode: 'component', admin: 'check' },
  'a component': { mode: 'component' },
}

for (const [mode, more] of Object.entries(modes)) {
  test(mode, needs('prosody'), async (t) => {
    const isProvisioned = more.mode === 'client' && more.admin !== undefined
    const server = await startProsody(t, [...friends, ...(isProvisioned ? [] : [ours.slice(1)])])
    const { password: _, ...open } = settingsFor(more.mode, server, more)
    const settings = isProvisioned ? open : settingsFor(more.mode, server, more)
    const seen = recordEvents(makeVault())
    const us = line(ours)
    const network = await link(t, settings, seen, [us])
    const isComponent = more.mode === 'component'
    const me = `${ours.slice(1)}@${isComponent ? component : 'localhost'}`
    const [friend, other] = await Promise.all([
      openXmppClient(t, server, '15550000002'),
      openXmppClient(t, server, '15550000003'),
    ])
    const scene = { network, seen, channel: us.channel, me, friend, other, isComponent }
    for (const [name, run] of Object.entries(cases)) await t.test(name, (inner) => run(scene, inner, server))
    assert.deepEqual(
      seen.log.filter((one) => one.startsWith('stanza-failed')),
      [],
    )
  })
}
