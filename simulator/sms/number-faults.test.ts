import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SmsReceipt } from '../../src/ports/sms.ts'
import {
  type BoundSession,
  bindSession,
  carrierIdOf,
  makeSimulatorHome,
  otherClient,
  ownNumber,
  type Simulator,
  startSimulator,
  submitAll,
} from '../../test/simulator.ts'

const long = 'x'.repeat(400)

const answers = async (platform: BoundSession, number: string, count: number) => {
  const outcomes: string[] = []
  for (let i = 0; i < count; i++) {
    const [result] = await submitAll(platform, number, 'Hello')
    assert.ok(result)
    if (result.outcome === 'accepted') outcomes.push('accepted')
    else outcomes.push(`${result.outcome} ${result.outcome === 'unknown' ? result.detail : result.reason}`)
    await platform.until(() => platform.carrier.state().state === 'up')
  }
  return outcomes
}

const manner = (simulator: Simulator, number: string, carrier: string | null) =>
  simulator.call('PUT', `/handsets/${number}`, { carrier })

test('a handset can be set to fail every other submit', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort, { response_seconds: 0.3, reconnect_seconds: 0.2 })
  const troubles: [carrier: string, then: string][] = [
    ['throttled', 'retry ESME_RTHROTTLED'],
    ['queue_full', 'retry ESME_RMSGQFUL'],
    ['system_error', 'retry ESME_RSYSERR'],
    ['mute', 'unknown no answer in time'],
    ['disconnect', 'unknown closed by the peer'],
  ]
  for (const [carrier, then] of troubles) {
    await manner(simulator, '+33612345678', carrier)
    assert.deepEqual(await answers(platform, '+33612345678', 3), [then, 'accepted', then], carrier)
    // The second of the pair, so that the next fault begins with the first.
    assert.deepEqual(await answers(platform, '+33612345678', 1), ['accepted'])
    assert.deepEqual(await answers(platform, '+33612345679', 1), ['accepted'])
  }
  await manner(simulator, '+33612345678', 'half_pdu')
  assert.match((await answers(platform, '+33612345678', 1))[0] ?? '', /^unknown/)
  await manner(simulator, '+33612345678', null)
  assert.deepEqual(await answers(platform, '+33612345678', 3), Array(3).fill('accepted'))
})

/** Receipts of a long message to a handset with that fault, by part number. */
const receiptsOf = async (simulator: Simulator, platform: BoundSession, carrier: string, count: number) => {
  const number = '+33612345670'
  await manner(simulator, number, carrier)
  platform.receipts.length = 0
  const ids = (await submitAll(platform, number, long)).map(carrierIdOf)
  await platform.until(() => platform.receipts.length === count)
  const place = ({ carrierId }: SmsReceipt) =>
    ids.findIndex((id) => id === carrierId || Number.parseInt(id, 16) === Number(carrierId)) + 1
  return platform.receipts.map(place)
}

test('a handset can be set to receipt faults: reversed, duplicated, first part only, or another id format', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort)
  assert.deepEqual(await receiptsOf(simulator, platform, 'receipts_reversed', 3), [3, 2, 1])
  assert.deepEqual((await receiptsOf(simulator, platform, 'duplicate_receipts', 6)).sort(), [1, 1, 2, 2, 3, 3])
  assert.deepEqual(await receiptsOf(simulator, platform, 'first_receipt_only', 1), [1])
  assert.deepEqual((await receiptsOf(simulator, platform, 'hex_ids', 3)).sort(), [1, 2, 3])
})

test('a handset can write in Latin-1, and its parts can arrive in any order, twice or not at all', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort)
  const write = (body: object) => simulator.call('POST', '/handsets/+33612345678/sms', { to: ownNumber, ...body })
  await write({ text: 'Grüße ¢', latin1: true })
  await platform.until(() => platform.inbound.length === 1)
  assert.equal(platform.inbound[0]?.text, 'Grüße ¢')
  await write({ text: long, order: [3, 1, 1] })
  await platform.until(() => platform.inbound.length === 4)
  assert.deepEqual(
    platform.inbound.slice(1).map(({ concat }) => concat?.part),
    [3, 1, 1],
  )
})

test('a deaf carrier responds only after it reads again, and one of several binds can be dropped', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const platform = await bindSession(t, simulator.smppPort, { binds: 2, response_seconds: 0.2, enquire_seconds: 0.1 })
  const states = () => platform.carrier.state().links.map(({ state }) => state)
  await platform.until(() => states().every((state) => state === 'up'))
  await simulator.call('POST', '/faults', { kind: 'disconnect', now: true, bind: 0 })
  await platform.until(() => states().includes('down'))
  assert.equal(platform.carrier.state().state, 'up')
  await simulator.call('POST', '/faults', { kind: 'deaf' })
  await platform.until(() => platform.carrier.state().state === 'down')
  await simulator.call('DELETE', '/faults')
  await platform.until(() => states().every((state) => state === 'up'))
})

test('a submit can be queried, and cancelled while it has no final state', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const client = await otherClient(t, simulator.smppPort)
  const submit = (fields: object) =>
    new Promise<string>((resolve) =>
      client.submit_sm({ source_addr: '447911123456', short_message: 'Hello', ...fields }, (answer) =>
        resolve(answer.message_id ?? ''),
      ),
    )
  const ask = (command: 'cancel_sm' | 'query_sm', message_id: string) =>
    new Promise<[number, number | undefined]>((resolve) =>
      client[command]({ message_id }, (answer) => resolve([answer.command_status, answer.message_state])),
    )
  await simulator.call('PUT', '/handsets/+33612345677', { sms: 'silent' })
  const delivered = await submit({ destination_addr: '33612345678', validity_period: '000001000000000R' })
  const silent = await submit({ destination_addr: '33612345677' })
  assert.deepEqual(await ask('cancel_sm', delivered), [0x11, undefined])
  assert.deepEqual(await ask('cancel_sm', 'none'), [0x0c, undefined])
  assert.deepEqual(await ask('query_sm', silent), [0, 6])
  assert.deepEqual(await ask('cancel_sm', silent), [0, undefined])
  assert.deepEqual(await ask('query_sm', silent), [0, 4])
  const { submits } = (await simulator.call('GET', '/submits')) as { submits: Record<string, unknown>[] } // shape of the control interface
  assert.deepEqual(
    submits.map(({ carrier_id, destination, text, validity }) => [carrier_id, destination, text, validity]),
    [
      [delivered, '+33612345678', 'Hello', '000001000000000R'],
      [silent, '+33612345677', 'Hello', ''],
    ],
  )
})
