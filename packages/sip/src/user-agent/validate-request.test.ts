import assert from 'node:assert/strict'
import { test } from 'node:test'
import { header } from '../message.ts'
import { defaultHandlers, needsTorture, openAgent, openPeer, requestText, tortureMessages, until } from './testing.ts'

const base = (method: string) => requestText(method, 5060)

const refusals: [string, string, number][] = [
  ['an unknown method', base('PUBLISH'), 405],
  [
    'a Request-URI of another scheme',
    base('OPTIONS').replace('OPTIONS sip:us@127.0.0.1:5060', 'OPTIONS http://x/'),
    416,
  ],
  ['an unsupported extension', base('INVITE').replace('Max-F', 'Require: sec-agree\nMax-F'), 420],
  ['an INVITE without Contact', base('INVITE').replace(/Contact: .*\n/, ''), 400],
  ['an INVITE with two Contacts', base('INVITE').replace('Contact: ', 'Contact: <sip:a@b>, '), 400],
  ['an INVITE that has no hops left', base('INVITE').replace('Max-Forwards: 70', 'Max-Forwards: 0'), 483],
  [
    'a body that is not SDP',
    base('INVITE').replace('Content-Length: 0\n\n', 'Content-Type: text/plain\nContent-Length: 2\n\nhi'),
    415,
  ],
  ['a BYE outside a dialog', base('BYE'), 481],
  [
    'an INVITE within an unknown dialog',
    base('INVITE').replace('To: <sip:us@127.0.0.1>', 'To: <sip:us@127.0.0.1>;tag=x'),
    481,
  ],
  ['a session interval below 90 s', base('INVITE').replace('Max-F', 'Session-Expires: 30\nMax-F'), 422],
  ['an unreadable header', base('INVITE').replace('Max-Forwards: 70', 'Max-Forwards: many'), 400],
]

for (const [what, text, status] of refusals)
  test(`${what} is refused with ${status} and reaches no handler`, async (t) => {
    const { udp } = await openAgent(t, { handlers: { ...defaultHandlers, onInvite: () => assert.fail('reached') } })
    const peer = await openPeer(t)
    peer.send(text, udp)
    const answer = await peer.next()
    assert.ok(answer.kind === 'response')
    assert.equal(answer.status, status)
    if (status === 420) assert.equal(header(answer, 'Unsupported'), 'sec-agree')
    if (status === 405) assert.match(header(answer, 'Allow') ?? '', /INVITE/)
  })

test('a handler that throws answers its own caller 500 and affects no other request', async (t) => {
  const faults: unknown[] = []
  const { agent, udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: () => {
        throw new Error('a bug')
      },
      onRegister: () => Promise.reject(new Error('another')),
      onOptions: () => {
        throw new Error('a third')
      },
      onError: (error) => faults.push(error),
    },
  })
  const peer = await openPeer(t)
  for (const [at, method] of ['INVITE', 'REGISTER', 'OPTIONS'].entries()) {
    peer.send(requestText(method, udp, '', { branch: `z9hG4bK${at}`, callId: method }), udp)
    const answer = await peer.next()
    assert.ok(answer.kind === 'response' && answer.status === 500)
  }
  assert.equal(faults.length, 3)
  assert.equal(agent.counts.faults, 3)
})

test('an OPTIONS outside a dialog is answered without a transaction', async (t) => {
  const { agent, udp } = await openAgent(t)
  const peer = await openPeer(t)
  peer.send(requestText('OPTIONS', udp), udp)
  const answer = await peer.next()
  assert.ok(answer.kind === 'response' && answer.status === 200)
  assert.deepEqual(agent.active, { servers: 0, clients: 0, dialogs: 0 })
})

test('an agent survives every torture message of RFC 4475', needsTorture, async (t) => {
  const { agent, udp } = await openAgent(t)
  const peer = await openPeer(t)
  const messages = [...tortureMessages().values()]
  for (const message of messages) peer.send(message, udp)
  peer.send(requestText('OPTIONS', udp, '', { branch: 'z9hG4bKlast' }), udp)
  await until(() => peer.heard.some((message) => /z9hG4bKlast/.test(header(message, 'Via') ?? '')))
  assert.ok(agent.counts.malformed >= 10)
  assert.equal(agent.counts.faults, 0)
})

test('a response adds no second tag, wherever the first tag is in To', async (t) => {
  const { udp } = await openAgent(t)
  const peer = await openPeer(t)
  peer.send(requestText('BYE', udp, '', { to: '<sip:us@127.0.0.1>;tag=own;x=">"' }), udp)
  const answer = await peer.next()
  assert.equal(header(answer, 'To'), '<sip:us@127.0.0.1>;tag=own;x=">"')
})
