import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StreamParseError, StreamParser } from '@trunkline/xmpp/stream-parser.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { serialize, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import { randomInputs } from '../../../test/needs.ts'
import { makeAddresses } from './addresses.ts'
import { ChannelSession } from './channel-session.ts'
import { ExistenceChecker } from './number-checks.ts'
import { openPersistedState } from './persisted-state.ts'
import { line, makeVault, recordEvents } from './xmpp-testing.ts'

// Mutated stanzas never break a session; damaged bytes are parsed or end the stream.

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
const rounds = process.env.TRUNKLINE_TEST_LONG ? 1_000_000 : randomInputs(100_000)

/** mulberry32 */
const chance = (start: number) => {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const me = '15550000001@localhost'
const room = 'team@rooms.localhost'
const delay = "<delay xmlns='urn:xmpp:delay' from='localhost' stamp='2026-01-01T00:00:00Z'/>"
const inner = `<forwarded xmlns='urn:xmpp:forward:0'>${delay}<message xmlns='jabber:client' from='${me}/a' to='b@localhost' id='i'><body>b</body></message></forwarded>`
const sound = [
  `<message from='a@localhost/x' to='${me}' id='1' type='chat'><body>hi</body><request xmlns='urn:xmpp:receipts'/>${delay}</message>`,
  `<message from='a@localhost' to='${me}'><received xmlns='urn:xmpp:receipts' id='tl-1'/><displayed xmlns='urn:xmpp:chat-markers:0' id='tl-1'/></message>`,
  `<message from='a@b/c' id='2'><body>x</body><replace xmlns='urn:xmpp:message-correct:0' id='1'/></message>`,
  `<message from='a@b/c' id='3'><reactions xmlns='urn:xmpp:reactions:0' id='tl-1'><reaction>x</reaction></reactions></message>`,
  `<message from='a@b/c' id='4'><body>http://a/b.jpg</body><x xmlns='jabber:x:oob'><url>http://a/b.jpg</url></x></message>`,
  `<message from='a@b/c' id='5'><body>geo:1,2</body><geoloc xmlns='http://jabber.org/protocol/geoloc'><lat>1</lat><lon>2</lon></geoloc></message>`,
  `<message from='a@b/c' id='6'><propose xmlns='urn:xmpp:jingle-message:0' id='k'><description media='video'/></propose></message>`,
  `<message from='a@b/c' id='tl-7' type='error'><error type='cancel'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>`,
  `<message from='${me}' to='${me}/t'><sent xmlns='urn:xmpp:carbons:2'>${inner}</sent></message>`,
  `<message from='${me}'><result xmlns='urn:xmpp:mam:2' queryid='q' id='z'>${inner}</result></message>`,
  `<message from='${room}/nick' type='groupchat' id='8'><body>all</body><stanza-id xmlns='urn:xmpp:sid:0' by='${room}' id='s'/></message>`,
  `<message from='${room}'><x xmlns='http://jabber.org/protocol/muc#user'><item affiliation='member' jid='c@d'/><invite from='a@b'/></x></message>`,
  `<message from='a@localhost'><x xmlns='jabber:x:conference' jid='${room}'/></message>`,
  `<presence from='${room}/nick'><x xmlns='http://jabber.org/protocol/muc#user'><item affiliation='member' role='participant' jid='c@d/e'/><status code='110'/></x></presence>`,
  `<presence from='${room}/nick' type='unavailable'><x xmlns='http://jabber.org/protocol/muc#user'><item affiliation='none' jid='c@d'/><status code='321'/></x></presence>`,
  `<presence from='a@b' type='subscribe'/>`,
  `<iq from='a@b/c' id='9' type='get'><query xmlns='http://jabber.org/protocol/disco#info'/></iq>`,
  `<iq from='a@b/c' id='10' type='get'><pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='urn:xmpp:avatar:data'/></pubsub></iq>`,
  `<iq from='a@b/c' id='11' type='set'><jingle xmlns='urn:xmpp:jingle:1' action='session-initiate' sid='s'><content><description media='video'/></content></jingle></iq>`,
]

const header = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"

const readAll = (text: string): XmlElement[] => {
  const stanzas: XmlElement[] = []
  const reader = new StreamParser({ opened: () => {}, stanza: (stanza) => stanzas.push(stanza), closed: () => {} })
  reader.write(Buffer.from(header + text))
  return stanzas
}

const odd = [
  '',
  '/',
  '@',
  'x'.repeat(5_000),
  '__proto__',
  'constructor',
  '%00',
  '👍',
  '-1',
  '1e999',
  'tl-',
  ' ',
  'null',
  me,
  room,
  `${room}/nick`,
]

type Chance = () => number
const pick = <T>(list: readonly [T, ...T[]] | readonly T[], by: Chance): T | undefined =>
  list[Math.floor(by() * list.length)]

/** Returns a mutated, well-formed element: parts duplicated, dropped, moved or renamed, attributes corrupted. */
const mutate = (element: XmlElement, by: Chance, others: readonly XmlElement[]): XmlElement => {
  const attrs = { ...element.attrs }
  for (const name of Object.keys(attrs)) {
    const dice = by()
    if (dice < 0.06) delete attrs[name]
    else if (dice < 0.2) attrs[name] = pick(odd, by) ?? ''
  }
  const children = element.children.flatMap((one): (XmlElement | string)[] => {
    const dice = by()
    if (dice < 0.06) return []
    if (dice < 0.12) return [one, one]
    if (dice < 0.16) return [pick(others, by) ?? one]
    return [typeof one === 'string' ? (dice < 0.3 ? (pick(odd, by) ?? '') : one) : mutate(one, by, others)]
  })
  if (by() < 0.08) children.push(...(pick(others, by)?.children ?? []))
  const ns = by() < 0.03 ? (pick(others, by)?.ns ?? '') : element.ns
  return { name: by() < 0.03 ? (pick(others, by)?.name ?? 'x') : element.name, ns, attrs, children }
}

test(`a session survives ${rounds} mutated stanzas and processes the next valid one (seed ${seed})`, async () => {
  const by = chance(seed)
  const stanzas = sound.flatMap(readAll)
  assert.equal(stanzas.length, sound.length)
  const seen = recordEvents()
  const wire: Wire = {
    self: me,
    isUp: true,
    send: (stanza) => serialize(stanza).length > 0,
    request: async () => ({ outcome: 'lost', reason: 'none' }),
    deliver: async () => 'accepted',
    ping: async () => true,
  }
  const settings = { mode: 'component', host: 'h', port: 1, domain: 'localhost', component: 'gate.localhost' } as const
  const memory = await openPersistedState(makeVault(), 'c')
  const taker = new ChannelSession({
    line: line('+15550000001'),
    tools: seen.tools,
    wire,
    addresses: makeAddresses(settings),
    state: memory,
    isComponent: true,
    administration: null,
    existence: new ExistenceChecker(),
    services: async () => ({ groups: 'rooms.localhost', upload: null, uploadMax: 0 }),
  })
  let taken = 0
  for (let round = 0; round < rounds; round++) {
    const from = pick(stanzas, by)
    if (from) await taker.handleStanza(mutate(from, by, stanzas), by() < 0.01)
    taken += seen.inbound.splice(0, seen.inbound.length - 10).length
  }
  taker.close()
  // Enough mutations stay valid to cover all paths.
  const counts = { taken, receipts: seen.receipts.length, calls: seen.calls.length, edits: seen.edits.length }
  for (const [what, count] of Object.entries({ ...counts, groups: seen.groups.length })) assert.ok(count > 50, what)
  assert.deepEqual(
    seen.log.filter((one) => one.startsWith('stanza-failed')),
    [],
  )
  const last = new ChannelSession({ ...taker.deps })
  await last.handleStanza(
    readAll(`<message from='z@localhost' id='last'><body>sound</body></message>`)[0] ?? xml('x', ''),
    false,
  )
  assert.equal(seen.inbound.at(-1)?.text, 'sound')
  last.close()
})

test(`damaged bytes are parsed or end the stream (seed ${seed})`, () => {
  const by = chance(seed + 1)
  const text = Buffer.from(header + sound.join(''))
  let [ended, whole] = [0, 0]
  for (let round = 0; round < rounds / 20; round++) {
    const bytes = Buffer.from(text)
    for (let flips = 1 + Math.floor(by() * 3); flips > 0; flips--) {
      bytes[Math.floor(by() * bytes.length)] = Math.floor(by() * 256)
    }
    try {
      new StreamParser({ opened: () => {}, stanza: () => {}, closed: () => {} }).write(bytes)
      whole++
    } catch (error) {
      assert.ok(error instanceof StreamParseError, String(error))
      ended++
    }
  }
  assert.ok(ended > 0 && whole > 0)
})
