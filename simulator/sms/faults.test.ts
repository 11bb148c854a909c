import assert from 'node:assert/strict'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import smpp from 'smpp'
import { bindSession, carrierIdOf, makeSimulatorHome, startSimulator, submitAll } from '../../test/simulator.ts'

test('every fault is reported by the session as its own error', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort, { response_seconds: 0.2, reconnect_seconds: 0.2 })
  const { carrier, receipts, until } = platform
  const submit = async () => (await submitAll(platform, '+33612345678', 'Hello'))[0]
  const fault = (body: Record<string, unknown>) => simulator.call('POST', '/faults', body)
  const bound = () => until(() => carrier.state().state === 'up')

  await fault({ kind: 'refuse', status: 8 })
  assert.deepEqual(await submit(), { outcome: 'retry', wasSent: true, reason: 'ESME_RSYSERR', seconds: 0.5 })
  await fault({ kind: 'mute' })
  assert.deepEqual(await submit(), { outcome: 'unknown', reason: 'unanswered', detail: 'no answer in time' })
  await fault({ kind: 'slow', ms: 50 })
  carrierIdOf(await submit())
  await fault({ kind: 'empty_id' })
  assert.equal(carrierIdOf(await submit()), '')

  await until(() => receipts.length === 4 - 1)
  receipts.length = 0
  await fault({ kind: 'ids', response: 'hex', receipt: 'decimal' })
  const hexId = carrierIdOf(await submit())
  await until(() => receipts.length === 1)
  assert.equal(receipts[0]?.carrierId, String(Number.parseInt(hexId, 16)))
  await simulator.call('DELETE', '/faults')
  await fault({ kind: 'duplicate_receipts' })
  const twice = carrierIdOf(await submit())
  await until(() => receipts.length === 3)
  assert.deepEqual(
    receipts.slice(1).map(({ carrierId }) => carrierId),
    [twice, twice],
  )

  await fault({ kind: 'malformed' })
  await fault({ kind: 'malformed', pdu: '00000010000000fe0000000000000002' })
  carrierIdOf(await submit())
  await fault({ kind: 'disconnect' })
  assert.equal((await submit())?.outcome, 'unknown')
  await bound()
  await fault({ kind: 'half_pdu' })
  assert.equal((await submit())?.outcome, 'unknown')
  await bound()
  await fault({ kind: 'refuse_bind', status: 8 })
  await fault({ kind: 'disconnect', now: true })
  await until(() => carrier.state().lastError === 'bind refused: ESME_RSYSERR')
  await bound()
  await fault({ kind: 'throttle', per_second: 0 })
  assert.equal((await submit())?.outcome, 'retry')
})

test('a receipt can precede the response', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort)
  await simulator.call('POST', '/faults', { kind: 'receipt_first' })
  const order: string[] = []
  const submitted = submitAll(platform, '+33612345678', 'Hello').then(() => order.push('answer'))
  await platform.until(() => platform.receipts.length === 1)
  order.push('receipt')
  await submitted
  assert.deepEqual(order, ['receipt', 'answer'])
})

test('no bytes stop the simulator: each peer gets a response or is closed, and the others continue', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  // Each round opens a connection; more rounds would exhaust the machine's ports. The long form sends 100,000 PDUs.
  const rounds = process.env.TRUNKLINE_TEST_LONG ? 5_000 : 200
  const good = new smpp.PDU('submit_sm', {
    source_addr: '1234567',
    destination_addr: '33612345678',
    short_message: 'x'.repeat(60),
  }).toBuffer()
  const enquiry = encodePdu({ command: 'enquire_link', sequence: 0x7eadbeef, status: 0 })
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return (seed >> 8) % below
  }
  /** The submit with some bytes changed, except the first `fixed` ones. */
  const mutated = (fixed: number): Buffer => {
    const octets = Buffer.from(good)
    for (let i = random(6); i >= 0; i--) octets[fixed + random(octets.length - fixed)] = random(256)
    return octets
  }
  let answered = 0
  for (let round = 0; round < rounds; round++) {
    const framed = Array.from({ length: random(40) }, () => mutated(4))
    const last = mutated(0)
    const cut = round % 5 === 0 ? random(last.length) : last.length
    const socket = connectTcp(simulator.smppPort, '127.0.0.1')
    socket.on('error', () => {})
    let got = Buffer.alloc(0)
    const isAnswered = () => got.includes(enquiry.subarray(12))
    const done = new Promise<void>((resolve) => {
      socket.on('close', () => resolve())
      socket.on('data', (chunk: Buffer) => {
        got = Buffer.concat([got, chunk])
        if (isAnswered()) resolve()
      })
    })
    socket.write(Buffer.concat([...framed, last.subarray(0, cut)]))
    socket.write(enquiry)
    // An unfinished frame swallows the query; only the end of the stream settles that.
    socket.end()
    await done
    if (isAnswered()) answered++
    socket.destroy()
  }
  assert.ok(answered > rounds / 2, `${answered} answered`)
  const platform = await bindSession(t, simulator.smppPort)
  carrierIdOf((await submitAll(platform, '+33612345678', 'Still here'))[0])
})
