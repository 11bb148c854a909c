import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { startProsody, until } from '../../../test/prosody.ts'
import { find, openXmppClient } from '../../../test/xmpp-client.ts'
import { countByText, line, link, recordEvents, sendAll, settingsFor } from './xmpp-testing.ts'

const ours = '+15550000001'
const theirs = '+15550000002'
const us = line(ours)
const users = ['15550000001', '15550000002']

test('a broken link is resumed, and messages in flight arrive once', needs('prosody'), async (t) => {
  const server = await startProsody(t, users)
  const seen = recordEvents()
  // A proxy between us and the server that can be cut.
  const wires = new Set<{ destroy(): void }>()
  const proxy = createServer((socket) => {
    const other = connect(server.port, '127.0.0.1')
    for (const one of [socket, other]) {
      one.on('error', () => {})
      wires.add(one)
    }
    socket.pipe(other).pipe(socket)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const wire of wires) wire.destroy()
    proxy.close()
  })
  await until('the wire is there', () => proxy.listening)
  const address = proxy.address()
  assert.ok(address && typeof address === 'object')
  const network = await link(t, { ...settingsFor('client', server), port: address.port }, seen, [us])
  const friend = await openXmppClient(t, server, '15550000002')
  const ids = Array.from({ length: 60 }, (_, index) => String(index + 10))
  const sending = sendAll(network, us.channel, theirs, ids)
  for (const at of [15, 30, 45]) {
    friend.sendChat('15550000001@localhost', `answer ${at}`, `x${at}`)
    await friend.wait(`text ${at}`, (node) => find(node, 'body')?.text === `text ${at}`)
    for (const wire of wires) wire.destroy()
    wires.clear()
    friend.sendChat('15550000001@localhost', `cut ${at}`, `y${at}`)
  }
  await sending
  await friend.wait('the last text', (node) => find(node, 'body')?.text === 'text 69')
  assert.deepEqual(
    countByText(friend.texts()),
    ids.map((id) => `text ${id} × 1`),
  )
  await until('all answers', () => seen.inbound.length >= 6)
  assert.deepEqual(
    seen.inbound.map(({ text }) => text),
    ['answer 15', 'cut 15', 'answer 30', 'cut 30', 'answer 45', 'cut 45'],
  )
})
