import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { segment } from '@trunkline/phone/segments.ts'
import smpp, { type SmppPdu } from 'smpp'
import type { SmsReceipt } from '../src/ports/sms.ts'
import {
  bindSession,
  carrierIdOf,
  handsetMessages,
  killSimulator,
  makeSimulatorHome,
  otherClient,
  ownNumber,
  password,
  startSimulator,
  submitAll,
} from '../test/simulator.ts'

const long = (border: number): string => `${'я'.repeat(border - 1)}😀${'ю'.repeat(40)}👨‍👩‍👧‍👦 end`

test('another implementation can submit, query, and receive receipts and messages of a handset', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const session = await otherClient(t, simulator.smppPort)
  const fields = {
    source_addr: '447911123456',
    destination_addr: '33612345678',
    short_message: 'Hello',
    registered_delivery: 1,
  }
  const receipt = once(session, 'deliver_sm')
  const answer = await new Promise<SmppPdu>((resolve) => session.submit_sm(fields, resolve))
  assert.equal(answer.command_status, 0)
  const [report] = await receipt
  session.send(report.response())
  assert.equal(report.esm_class, 4)
  assert.equal(report.receipted_message_id, answer.message_id)
  assert.equal(report.message_state, 2)
  assert.match(String(report.short_message.message), new RegExp(`^id:${answer.message_id} .* stat:DELIVRD err:000 `))
  const state = await new Promise<SmppPdu>((resolve) => {
    session.query_sm({ message_id: answer.message_id, source_addr: '447911123456' }, resolve)
  })
  assert.equal(state.message_state, 2)

  const heard = once(session, 'deliver_sm')
  await simulator.call('POST', '/handsets/33612345678/sms', { to: ownNumber, text: 'Thanks' })
  const [reply] = await heard
  session.send(reply.response())
  assert.equal(reply.short_message.message, 'Thanks')
  assert.deepEqual(await handsetMessages(simulator, '+33612345678'), [
    { direction: 'inbound', peer: ownNumber, text: 'Hello' },
    { direction: 'outbound', peer: ownNumber, text: 'Thanks' },
  ])
})

test('more than ten unanswered submits are throttled', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const socket = connectTcp(simulator.smppPort, '127.0.0.1')
  t.after(() => socket.destroy())
  const client = await otherClient(t, simulator.smppPort)
  const statuses = new Map<number, number>()
  const fields = { source_addr: '447911123456', destination_addr: '33612345678', short_message: 'x' }
  const octets = Array.from({ length: 25 }, (_, index) => {
    const pdu = new smpp.PDU('submit_sm', fields)
    pdu.sequence_number = 100 + index
    return pdu.toBuffer()
  })
  const bindPdu = new smpp.PDU('bind_transceiver', { system_id: 'raw', password })
  bindPdu.sequence_number = 1
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 16 && rest.length >= rest.readUInt32BE(0)) {
      if (rest.readUInt32BE(4) === 0x80000004) statuses.set(rest.readUInt32BE(12), rest.readUInt32BE(8))
      rest = rest.subarray(rest.readUInt32BE(0))
    }
  })
  socket.write(Buffer.concat([bindPdu.toBuffer(), ...octets]))
  while (statuses.size < 25) await setImmediate()
  assert.deepEqual([...statuses.values()], [...Array(10).fill(0), ...Array(15).fill(0x58)])
  client.destroy()
})

test('the last digits or a PUT choose a handset’s outcome and receipt, and a silent one sends no receipt', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort)
  const numbers: [number: string, state: SmsReceipt['state'] | null][] = [
    ['+33612340001', 'undelivered'],
    ['+33612340002', 'expired'],
    ['+33612340003', 'rejected'],
    ['+33612345679', 'expired'],
    ['+33612345677', null],
    ['+33612345678', 'delivered'],
  ]
  await simulator.call('PUT', '/handsets/%2B33612345679', { sms: 'expire', answers: 'busy' })
  await simulator.call('PUT', '/handsets/+33612345677', { sms: 'silent' })
  const expected = new Map<string, string>()
  for (const [number, state] of numbers) {
    const id = carrierIdOf((await submitAll(platform, number, 'Hello'))[0])
    if (state) expected.set(id, state)
  }
  await platform.until(() => platform.receipts.length === expected.size)
  assert.deepEqual(new Map(platform.receipts.map(({ carrierId, state }) => [carrierId, state])), expected)
  assert.deepEqual(await handsetMessages(simulator, '+33612340001'), [])
  assert.equal((await handsetMessages(simulator, '+33612345678')).length, 1)
})

for (const mode of ['udh8', 'udh16', 'sar', 'payload'] as const) {
  test(`a long message with an emoji at the part border arrives intact both ways in mode ${mode}`, async (t) => {
    const simulator = await startSimulator(t, await makeSimulatorHome(t))
    const platform = await bindSession(t, simulator.smppPort, { long: mode })
    for (const border of [66, 67, 68]) {
      for (const result of await submitAll(platform, '+33612345678', long(border), mode)) carrierIdOf(result)
    }
    assert.deepEqual(
      (await handsetMessages(simulator, '+33612345678')).map(({ text }) => text),
      [long(66), long(67), long(68)],
    )

    await simulator.call('POST', '/handsets/+33612345678/sms', { to: ownNumber, text: long(67), long: mode })
    const parts = segment(long(67), mode).parts.length
    await platform.until(() => platform.inbound.length === parts)
    platform.inbound.sort((a, b) => (a.concat?.part ?? 0) - (b.concat?.part ?? 0))
    assert.equal(platform.inbound.map(({ text }) => text).join(''), long(67))
    if (parts > 1)
      assert.deepEqual(
        platform.inbound.map(({ concat }) => concat?.part),
        [1, 2].slice(0, parts),
      )
  })
}

test('answered items, settings, partial long messages, and pending receipts and messages survive a kill', async (t) => {
  const path = await makeSimulatorHome(t)
  const before = await startSimulator(t, path)
  const session = await otherClient(t, before.smppPort)
  const submit = (fields: Record<string, unknown>) =>
    new Promise<SmppPdu>((resolve) =>
      session.submit_sm(
        { source_addr: '447911123456', destination_addr: '33612345678', registered_delivery: 1, ...fields },
        resolve,
      ),
    )
  const answer = await submit({ short_message: 'Kept' })
  const udh = (part: number) => Buffer.from([5, 0, 3, 7, 2, part])
  await submit({
    esm_class: 0x40,
    short_message: { udh: udh(1), message: Buffer.from('first ') },
    registered_delivery: 0,
  })
  await before.call('PUT', '/handsets/+33612345670', { sms: 'undeliverable' })
  await before.call('POST', '/handsets/+33612345678/sms', { to: ownNumber, text: 'From the handset' })
  await killSimulator(before)

  const after = await startSimulator(t, path)
  const platform = await bindSession(t, after.smppPort)
  await platform.until(() => platform.receipts.length >= 1 && platform.inbound.length >= 1)
  assert.equal(platform.receipts[0]?.carrierId, answer.message_id)
  assert.equal(platform.inbound[0]?.text, 'From the handset')
  const seen = await handsetMessages(after, '+33612345678')
  assert.deepEqual(
    seen.map(({ text }) => text),
    ['Kept', 'From the handset'],
  )
  carrierIdOf((await submitAll(platform, '+33612345670', 'Gone'))[0])
  await platform.until(() => platform.receipts.length === 2)
  assert.equal(platform.receipts[1]?.state, 'undelivered')

  const other = await otherClient(t, after.smppPort)
  await new Promise<SmppPdu>((resolve) =>
    other.submit_sm(
      {
        source_addr: '447911123456',
        destination_addr: '33612345678',
        esm_class: 0x40,
        short_message: { udh: udh(2), message: Buffer.from('second') },
      },
      resolve,
    ),
  )
  assert.equal((await handsetMessages(after, '+33612345678')).at(-1)?.text, 'first second')
})

test('every answered message survives a kill at any moment', async (t) => {
  const path = await makeSimulatorHome(t)
  const before = await startSimulator(t, path)
  const { carrier, until } = await bindSession(t, before.smppPort)
  const accepted: string[] = []
  let ended = false
  const submit = async (text: string) => {
    const fields = { message: text, part: 1, parts: 1, source: ownNumber, destination: '+33612345678', reference: 0 }
    const { outcome } = await carrier.submit({ ...fields, text, encoding: 'gsm7' })
    if (outcome === 'accepted') accepted.push(text)
    if (accepted.length === 500) before.child.kill('SIGKILL')
    ended ||= outcome !== 'accepted'
  }
  let count = 0
  await until(() => {
    for (let room = carrier.freeWindow(); room > 0 && !ended; room--) void submit(`text ${++count}`)
    return carrier.state().state === 'down'
  })
  await carrier.close()
  const after = await startSimulator(t, path)
  const texts = new Set((await handsetMessages(after, '+33612345678')).map(({ text }) => text))
  assert.ok(accepted.length >= 500)
  assert.deepEqual(
    accepted.filter((text) => !texts.has(text)),
    [],
  )
})

test('a message that the platform could not persist is redelivered until it is', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  let tries = 0
  const platform = await bindSession(t, simulator.smppPort, {}, async () => {
    if (++tries === 1) throw new Error('the database is down')
  })
  await simulator.call('POST', '/handsets/+33612345678/sms', { to: ownNumber, text: 'Again' })
  await platform.until(() => platform.inbound.length === 1)
  assert.equal(tries, 2)
})

test('the simulator exits with its parent and refuses requests without a token', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  await assert.rejects(async () => {
    await simulator.call('GET', '/nothing')
  }, /404/)
  simulator.child.stdin?.end()
  const [code] = await once(simulator.child, 'exit')
  assert.equal(code, 0)
})
