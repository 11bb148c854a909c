import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { makeRandom, mutate } from '@trunkline/sip/testing.ts'
import { mostMs, SlowestInput } from '../../../../test/fuzz/slowest-input.ts'
import { until } from '../../../../test/platform.ts'
import { maxMessagesOfType } from '../limits.ts'
import { DtlsHandshake } from './dtls-handshake.ts'

// DTLS over UDP sockets, where datagrams of both peers are damaged, repeated, reordered and cut: no input ends the
// process or holds the event loop, and a handshake afterwards succeeds. An unhandled rejection fails the test.
//
//   TRUNKLINE_FUZZ_SEED    another seed than 1; the long form takes a new one each time
//   TRUNKLINE_FUZZ_SHARE   the share of the long form to run: 1 is 4,000 handshakes

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const share = Number(process.env.TRUNKLINE_FUZZ_SHARE ?? 1)
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))
const handshakes = Math.ceil(long ? 4_000 * share : 16)
/** Damaged datagrams of earlier handshakes that each peer gets too. */
const strangers = 40
/** Handshakes under way at a time. */
const width = 4
/** Largest datagram of UDP over IPv4. */
const maxDatagram = 65_507

type Random = (below: number) => number
type Role = 'client' | 'server'
type Side = { readonly socket: Socket; readonly dtls: DtlsHandshake; sent: number; connected: boolean; failed: boolean }

const worst = new SlowestInput('DTLS')
let inputs = 0

/** Datagrams of all handshakes so far, as material for others. */
const seen: Buffer[] = []

const repeated = (piece: Buffer, size: number): Buffer =>
  Buffer.concat(Array.from({ length: Math.floor(size / Math.max(1, piece.length)) }, () => piece))

/** Changes lengths, sequence numbers and offsets of a record and its first handshake message (RFC 6347, 4.1, 4.2.2). */
const withOtherHeader = (random: Random, packet: Buffer): Buffer => {
  const changed = Buffer.from(packet)
  for (let left = 1 + random(3); left > 0; left--) {
    const at = [0, 1, 3, 5, 10, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 24][random(16)] ?? 0
    if (at < changed.length) changed[at] = [0, 1, 2, 11, 16, 20, 22, 127, 254, 255, random(256)][random(11)] ?? 0
  }
  return changed
}

/** Cuts a record with one handshake message into two fragments at random offsets, some of which overlap or exceed it. */
const inFragments = (random: Random, packet: Buffer): Buffer[] => {
  if (packet.length < 30 || packet[0] !== 22) return [packet]
  const body = packet.subarray(25)
  const piece = (from: number, to: number): Buffer => {
    const part = body.subarray(from, to)
    const head = Buffer.from(packet.subarray(0, 25))
    head.writeUInt16BE(part.length + 12, 11)
    head.writeUIntBE(from, 19, 3)
    head.writeUIntBE(part.length, 22, 3)
    return Buffer.concat([head, part])
  }
  const middle = random(body.length)
  return [piece(middle, body.length), piece(random(4) === 0 ? random(body.length) : 0, middle)]
}

const hostile = (random: Random, packet: Buffer): Buffer[] => {
  const other = seen[random(Math.max(1, seen.length))] ?? packet
  const kinds: (() => Buffer[])[] = [
    () => [mutate(random, [packet, other])],
    () => [withOtherHeader(random, packet)],
    () => [packet, packet],
    () => [other, packet],
    () => [packet.subarray(0, random(packet.length)), packet],
    () => [Buffer.concat([packet, other])],
    () => inFragments(random, packet),
    () => (random(20) === 0 ? [repeated(packet, random(4) === 0 ? maxDatagram : 8_000)] : [packet]),
    () => (random(20) === 0 ? [repeated(packet.subarray(0, 13 + random(30)), 8_000)] : [packet]),
    () => [withOtherHeader(random, packet), packet],
    () => [],
  ]
  return (kinds[random(kinds.length)]?.() ?? []).filter(({ length }) => length > 0 && length <= maxDatagram)
}

/** Two peers on sockets of their own. @param change returns what arrives in place of a datagram */
const connectTwo = async (change: (packet: Buffer) => readonly Buffer[]) => {
  const sockets = [createSocket('udp4'), createSocket('udp4')] as const
  for (const socket of sockets) socket.bind(0, '127.0.0.1')
  await Promise.all(sockets.map((socket) => once(socket, 'listening')))
  let isClosed = false
  const sideOf = (role: Role, socket: Socket, to: Socket): Side => {
    const { port } = to.address()
    const side: Side = {
      socket,
      sent: 0,
      connected: false,
      failed: false,
      dtls: new DtlsHandshake({
        send: (packet) => {
          if (isClosed) return
          side.sent++
          for (const one of change(packet)) socket.send(one, port, '127.0.0.1')
        },
        connected: () => {
          side.connected = true
        },
        failed: () => {
          side.failed = true
        },
      }),
    }
    side.dtls.expectCertificate([{ algorithm: 'sha-256', value: side.dtls.fingerprint }], role)
    socket.on('message', (packet) => {
      inputs++
      worst.run(() => side.dtls.receive(packet))
    })
    return side
  }
  const [client, server] = [sideOf('client', sockets[0], sockets[1]), sideOf('server', sockets[1], sockets[0])]
  client.dtls.begin()
  const close = () => {
    isClosed = true
    for (const { dtls, socket } of [client, server]) {
      dtls.close()
      socket.close()
    }
  }
  return { client, server, close }
}

/** Runs a handshake whose datagrams are damaged. @returns whether both peers got keys */
const runDamaged = async (random: Random): Promise<boolean> => {
  let harm = 1 + random(3)
  const { client, server, close } = await connectTwo((packet) => {
    if (seen.length < 500) seen.push(packet)
    if (harm <= 0) return [packet]
    harm--
    return random(3) === 0 ? [packet] : hostile(random, packet)
  })
  const known = seen[0]
  if (known && random(3) === 0)
    for (const { socket } of [client, server])
      for (let left = strangers; left > 0; left--)
        for (const one of hostile(random, seen[random(seen.length)] ?? known))
          socket.send(one, socket.address().port, '127.0.0.1')
  // Some handshakes wait for a retransmission.
  const isOver = async () => (client.connected && server.connected) || client.failed || server.failed
  await until(isOver, 1.2, 20).catch(() => {})
  const isDone = client.connected && server.connected
  close()
  return isDone
}

test(`${handshakes} damaged handshakes of DTLS end nothing but themselves (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
  const random = makeRandom(seed)
  let [left, done] = [handshakes, 0]
  const work = async () => {
    while (left-- > 0) if (await runDamaged(random)) done++
  }
  await Promise.all(Array.from({ length: width }, work))
  t.diagnostic(`${worst}; ${inputs} datagrams, ${done} of ${handshakes} handshakes succeeded`)
  assert.ok(worst.ms < mostMs, `${worst}`)
  const { client, server, close } = await connectTwo((packet) => [packet])
  t.after(close)
  await until(async () => client.connected && server.connected)
})

test('a peer that repeats its hello is answered a limited number of times', async (t) => {
  let [isRepeating, hellos] = [false, 0]
  const { client, server, close } = await connectTwo((packet) => {
    // The second ClientHello has the cookie, and costs a signature.
    const isHello = packet[0] === 22 && packet[13] === 1
    if (isHello) hellos++
    if (!isHello || hellos < 2 || isRepeating) return [packet]
    isRepeating = true
    return Array.from({ length: 20 }, () => repeated(packet, 8_000))
  })
  t.after(close)
  await until(async () => isRepeating && server.sent > 1)
  // Datagrams are processed in order: a later one shows that those with the hellos have been.
  const before = inputs
  client.socket.send('x', server.socket.address().port, '127.0.0.1')
  await until(async () => inputs > before)
  t.diagnostic(`${server.sent} datagrams`)
  assert.ok(server.sent < 40 * maxMessagesOfType, `${server.sent} datagrams`)
})

after(() => seen.splice(0))
