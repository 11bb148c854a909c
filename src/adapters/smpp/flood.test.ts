import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import { commandIds, noTlvs, type Pdu, tags } from '@trunkline/smpp/pdu.ts'
import { PduFramer } from '@trunkline/smpp/pdu-framer.ts'
import { connectSmpp } from './smpp-carrier.ts'
import { ignoreIntake, makeDelivery } from './testing.ts'

/** 10 million PDUs in the long form. */
const total = process.env.TRUNKLINE_TEST_LONG === '1' ? 10_000_000 : 100_000
/** PDUs between two checks that the session is alive. */
const batch = 1_000
/** One in this many batches ends in octets that form no frame. */
const broken = 20
/** PDUs after which the heap has its usual size. */
const settled = total / 5

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = Math.imul(seed, 2_654_435_761)
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}

const address = { ton: 1, npi: 1, address: '33612345678' }
const head = { sequence: 3, status: 0 }
const text = makeDelivery(5)
const receipt = 'id:77 sub:001 dlvrd:001 submit date:2611210930 done date:2611210930 stat:DELIVRD err:000 text:hello'

/** PDUs that carriers send. No unbind: it would only end the connection. */
const seeds: readonly Buffer[] = (
  [
    text,
    { ...text, esmClass: 4, shortMessage: Buffer.from(receipt), tlvs: new Map([[tags.message_state, Buffer.of(2)]]) },
    { ...text, esmClass: 0x40, shortMessage: Buffer.from('0500030702010a0b0c', 'hex') },
    { ...text, esmClass: 0x40, shortMessage: Buffer.from('0a24010125010108040001020161', 'hex') },
    { ...text, dataCoding: 8, shortMessage: Buffer.from('041f04400438d83ddc4b', 'hex') },
    { ...text, dataCoding: 0x0a, shortMessage: Buffer.from('1b2442304521', 'hex') },
    { ...text, shortMessage: Buffer.alloc(0), tlvs: new Map([[tags.message_payload, Buffer.alloc(600, 'x')]]) },
    {
      ...{ command: 'data_sm', ...head, serviceType: '', source: address, destination: address, esmClass: 0 },
      ...{ registered: 0, dataCoding: 0, tlvs: new Map([[tags.message_payload, Buffer.from('Hi')]]) },
    },
    { command: 'submit_sm_resp', ...head, messageId: '4711', tlvs: noTlvs },
    { command: 'bind_transceiver_resp', ...head, systemId: 'sc', tlvs: noTlvs },
    { command: 'query_sm_resp', ...head, messageId: '4711', finalDate: '', state: 2, error: 0 },
    { command: 'alert_notification', ...head, source: address, esme: address, tlvs: noTlvs },
    { command: 'enquire_link', ...head },
    { command: 'generic_nack', ...head },
  ] satisfies Pdu[]
).map(encodePdu)

const commandIdList = Object.values(commandIds).filter((id) => id !== commandIds.unbind)

/** A PDU with some octets changed, removed or added; its length is correct. */
const mutated = (): Buffer => {
  const from = seeds[random(seeds.length)] ?? Buffer.alloc(0)
  const kind = random(8)
  const other = seeds[random(seeds.length)] ?? from
  const octets =
    kind === 0
      ? Buffer.from(from.subarray(0, 16 + random(from.length - 15)))
      : kind === 1
        ? Buffer.concat([from, other.subarray(16 + random(other.length - 15))])
        : Buffer.from(from)
  for (let i = random(5); i > 0 && octets.length > 16; i--) octets[16 + random(octets.length - 16)] = random(256)
  if (kind === 2) octets.writeUInt32BE(commandIdList[random(commandIdList.length)] ?? 0, 4)
  if (kind === 3) octets[4 + random(12)] = random(256)
  octets.writeUInt32BE(octets.length)
  return octets
}

/** Octets that form no frame: random ones, a PDU of a wrong length, or half of one. */
const frameless = (): Buffer => {
  const octets = mutated()
  const kind = random(3)
  if (kind === 0) return Buffer.from(Array.from({ length: 40 }, () => random(256)))
  if (kind === 1) return octets.subarray(0, random(octets.length))
  octets[random(4)] = random(256)
  return octets
}

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')
/** Live memory, including buffers, in octets. */
const used = (): number => {
  if (typeof collect === 'function') collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const enquiry = 0x7eadbeef

/** Waits until the session has answered the enquire_link (true) or has left (false). */
const isAnswered = (socket: Socket, sequence: number): Promise<boolean> =>
  new Promise((resolve) => {
    const frames = new PduFramer((frame) => {
      if (frame.readUInt32BE(4) === commandIds.enquire_link_resp && frame.readUInt32BE(12) === sequence) end(true)
    })
    const read = (chunk: Buffer) => void frames.push(chunk)
    const left = () => end(false)
    const end = (answered: boolean) => {
      socket.off('data', read)
      socket.off('close', left)
      resolve(answered)
    }
    socket.on('data', read)
    socket.on('close', left)
  })

/** A session of ours and the carrier's end of its connection. */
const connectTo = async (port: number, connection: Promise<unknown[]>) => {
  const carrier = connectSmpp(
    { host: '127.0.0.1', port, system_id: 'us', password: 'secret', reconnect_seconds: 3_600 },
    { ...ignoreIntake, changed: () => {} },
  )
  const [socket] = (await connection) as [Socket] // what a server's event carries
  socket.on('error', () => {})
  const [request] = (await once(socket, 'data')) as [Buffer] // without an encoding
  const sequence = request.readUInt32BE(12)
  socket.write(encodePdu({ command: 'bind_transceiver_resp', sequence, status: 0, systemId: '', tlvs: noTlvs }))
  return { carrier, socket }
}

test(`${total} mutated PDUs neither stop a session nor stay in memory (seed ${seed})`, async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const listening = server.address()
  assert.ok(listening && typeof listening === 'object')
  const open = () => connectTo(listening.port, once(server, 'connection'))

  const began = performance.now()
  let session = await open()
  let sessions = 1
  let before = 0
  /** Batches of valid frames after which the session was gone: some PDUs have become an unbind. */
  let left = 0
  const marks: number[] = []
  for (let sent = 0; sent < total; sent += batch) {
    const octets = Array.from({ length: batch }, mutated)
    const isBroken = random(broken) === 0
    if (isBroken) octets.push(frameless())
    octets.push(encodePdu({ command: 'enquire_link', sequence: enquiry, status: 0 }))
    const answered = isAnswered(session.socket, enquiry)
    session.socket.write(Buffer.concat(octets))
    // An unfinished frame may swallow the enquire_link: the end of the stream settles it.
    if (isBroken) session.socket.end()
    const lives = await answered
    if (!lives && !isBroken) left++
    if (!lives || isBroken) {
      session.socket.destroy()
      await session.carrier.close()
      session = await open()
      sessions++
    }
    if (sent === settled) before = used()
    if (sent > settled && sent % (total / 10) === 0) marks.push(used())
  }
  const after = used()
  assert.ok(left <= total / batch / 10 + 1, `${left} of ${total / batch} batches ended a session`)
  session.socket.destroy()
  await session.carrier.close()
  const seconds = (performance.now() - began) / 1_000
  const growth = (after - before) / 1_048_576
  assert.ok(growth < 8, `${growth.toFixed(1)} MiB more than after ${settled} PDUs`)
  const slope = (growth / ((total - settled) / 1_000_000)).toFixed(3)
  t.diagnostic(
    `${total} PDUs in ${seconds.toFixed(0)} s over ${sessions} sessions; memory ${growth.toFixed(2)} MiB more, ` +
      `${slope} MiB a million (${marks.map((mark) => (mark / 1_048_576).toFixed(1)).join(', ')} MiB)`,
  )
})
