import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { startProsody, until } from '../../../test/prosody.ts'
import { openRawServer } from '../../../test/raw-xmpp.ts'
import { openXmppClient } from '../../../test/xmpp-client.ts'
import { line, link, type RecordedEvents, recordEvents, settingsFor } from './xmpp-testing.ts'

// Malicious stanzas over a live link: each is discarded once, other stanzas survive, and the link stays or recovers.
// Prosody 0.12.3 relays elements up to about 100 deep and drops deeper ones; other servers relay any depth.

const ours = '15550000001'
const us = line(`+${ours}`)
const body = "<body xmlns='jabber:client'>bomb</body>"

const message = (id: string, inner: string, attributes = ''): string =>
  `<message from='a@localhost/x' to='${ours}@localhost' id='${id}' type='chat'${attributes}>${inner}</message>`

const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => make(i)).join('')
const nested = (count: number): string => '<a>'.repeat(count) + '</a>'.repeat(count)

/** Ordinary messages with an oversized payload, which must be discarded. */
const discarded: Record<string, string> = {
  '8,000 elements in one another': message('deep', body + nested(8_000)),
  '36,000 elements in one another': message('deeper', body + nested(36_000)),
  'a name of every open element': message('names', `<q:a xmlns:q='urn:q'>`.repeat(9_000) + '</q:a>'.repeat(9_000)),
  '20,000 prefixes': message('prefixes', `<x ${many(20_000, (i) => `xmlns:p${i}='u' `)}/>${body}`),
  '20,000 attributes': message('attributes', `<x ${many(20_000, (i) => `a${i}='' `)}/>${body}`),
  '20,000 attributes of the stanza': message(
    'own',
    body,
    many(20_000, (i) => ` a${i}=''`),
  ),
  '30,000 sibling elements': message('wide', body + '<a/>'.repeat(30_000)),
  'a text of 2 MB': message('long', `<body>${'x'.repeat(2_000_000)}</body>`),
}

/** Stanzas that end the stream (RFC 6120, 4.9.3 and 11.1). A server would resend them when the stream is resumed. */
const ending: Record<string, string> = {
  'an entity bomb': message('e1', `<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]><body>&b;</body>`),
  'a comment': message('e4', '<!-- a comment --><body>b</body>'),
  'an undeclared prefix': message('e6', '<x:y/><body>b</body>'),
  'a stanza of 5 MiB': message('e8', `<body>${'x'.repeat(5 << 20)}</body>`),
  'elements that overlap': message('e9', '<a><b></a></b><body>b</body>'),
}

const linked = async (t: TestContext, seen: RecordedEvents) => {
  const server = await openRawServer(t, ours)
  const settings = { mode: 'client', host: '127.0.0.1', port: server.port, domain: 'localhost', password: 'p' } as const
  await link(t, { ...settings, encryption: 'direct', tls_ca: server.ca, reconnect_seconds: 1 }, seen, [us])
  return server
}

/** Milliseconds of processor time. Measured: 12 to 107 in a busy process; an unbounded parser takes seconds. */
const mostMs = 400

/** Starts a watch; stopping it returns the longest event-loop turn in ms of processor time. */
const watchTurns = (t: TestContext) => {
  let [worst, last, isOver] = [0, process.threadCpuUsage(), false]
  const look = () => {
    const { user, system } = process.threadCpuUsage(last)
    worst = Math.max(worst, (user + system) / 1000)
    last = process.threadCpuUsage()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  t.after(() => {
    isOver = true
  })
  return () => worst
}

test(
  'a stanza that is too deep, too wide or too long is discarded, and the link stays',
  needs('openssl'),
  async (t) => {
    const seen = recordEvents()
    const server = await linked(t, seen)
    for (const [name, stanza] of Object.entries(discarded)) {
      await t.test(name, async (t) => {
        // A busy machine holds the loop too: the promise of time holds at one of the attempts.
        let best = Number.POSITIVE_INFINITY
        for (let attempt = 1; attempt <= 3; attempt++) {
          const before = seen.log.length
          const worst = watchTurns(t)
          server.send(message(`before ${name} ${attempt}`, '<body>before</body>'))
          server.send(stanza)
          server.send(message(`after ${name} ${attempt}`, '<body>after</body>'))
          await until('both others', () => seen.inbound.length === 2)
          assert.deepEqual(
            seen.inbound.splice(0).map(({ text }) => text),
            ['before', 'after'],
          )
          assert.equal(seen.log.slice(before).filter((one) => one.startsWith('stanza-too-large')).length, 1)
          const ms = worst()
          t.diagnostic(`${stanza.length} bytes, at most ${ms.toFixed(1)} ms of the event loop`)
          best = Math.min(best, ms)
        }
        assert.ok(best < mostMs, `${best} ms`)
      })
    }
    assert.deepEqual(server.logins, { fresh: 1, resumed: 0 })
  },
)

test(
  'a stanza that ends the stream is not resent after resumption, and others are not lost',
  needs('openssl'),
  async (t) => {
    const seen = recordEvents()
    const server = await linked(t, seen)
    let resumed = 0
    for (const [name, stanza] of Object.entries(ending)) {
      await t.test(name, async () => {
        server.send(message(`before ${name}`, '<body>before</body>'))
        server.send(stanza)
        server.send(message(`after ${name}`, '<body>after</body>'))
        await until('both others', () => seen.inbound.length === 2)
        assert.deepEqual(
          seen.inbound.splice(0).map(({ text }) => text),
          ['before', 'after'],
        )
        assert.deepEqual(server.logins, { fresh: 1, resumed: ++resumed })
      })
    }
  },
)

const forwarded = (inner: string): string => `<forwarded xmlns='urn:xmpp:forward:0'>${inner}</forwarded>`
const copied = `<message xmlns='jabber:client' from='b@localhost/x' to='${ours}@localhost' id='forged' type='chat'><body>forged</body></message>`
const archived = `<result xmlns='urn:xmpp:mam:2' queryid='1' id='7'>${forwarded(`<delay xmlns='urn:xmpp:delay' stamp='2026-01-01T00:00:00Z'/>${copied}`)}</result>`

/** Claims that only our own account or the archive may make (XEP-0280, 11; XEP-0313, 7). */
const forged: Record<string, string> = {
  'a carbon of another of what came': message(
    'f1',
    `<received xmlns='urn:xmpp:carbons:2'>${forwarded(copied)}</received>`,
  ),
  'a carbon of another of what we sent': message('f2', `<sent xmlns='urn:xmpp:carbons:2'>${forwarded(copied)}</sent>`),
  'a result of an archive that was not queried': message('f3', archived),
  'a result that claims our own archive': `<message from='${ours}@localhost' to='${ours}@localhost/x' id='f4'>${archived}</message>`,
  'a roster push of another': `<iq from='a@localhost/x' to='${ours}@localhost/x' type='set' id='f6'><query xmlns='jabber:iq:roster'><item jid='b@localhost' subscription='remove'/></query></iq>`,
}

test('forged carbons and archive results have no effect', needs('openssl'), async (t) => {
  const seen = recordEvents()
  const server = await linked(t, seen)
  for (const [name, stanza] of Object.entries(forged))
    await t.test(name, async () => {
      server.send(stanza)
      server.send(message(`after ${name}`, '<body>after</body>'))
      await until('the message behind it', () => seen.inbound.some(({ text }) => text === 'after'))
      assert.deepEqual(
        seen.inbound.splice(0).map(({ text }) => text),
        ['after'],
      )
    })
  assert.deepEqual(server.logins, { fresh: 1, resumed: 0 })
})

for (const mode of ['client', 'component'] as const)
  test(`stanzas of an ordinary user through Prosody leave the link up (${mode})`, needs('prosody'), async (t) => {
    const server = await startProsody(t, [ours, '15550000002'])
    const seen = recordEvents()
    await link(t, settingsFor(mode, server), seen, [us])
    const friend = await openXmppClient(t, server, '15550000002')
    const me = mode === 'client' ? `${ours}@localhost` : `${ours}@gate.localhost`
    for (const depth of [60, 70, 90, 200, 2_000])
      friend.write(`<message to='${me}' id='d${depth}' type='chat'><body>deep</body>${nested(depth)}</message>`)
    friend.write(`<message to='${me}' id='wide' type='chat'><body>wide</body>${'<a/>'.repeat(9_000)}</message>`)
    friend.write(`<message to='${me}' type='chat' ${many(15_000, (i) => `a${i}='' `)}><body>odd</body></message>`)
    friend.sendChat(me, 'after', 'last')
    await until('the last message', () => seen.inbound.some(({ text }) => text === 'after'))
    assert.deepEqual(
      [...seen.states.values()].flat().map(({ phase }) => phase),
      ['connecting', 'connected'],
    )
    t.diagnostic(`${seen.inbound.map(({ text }) => text).join(', ')}; ${seen.log.length} discarded`)
  })
