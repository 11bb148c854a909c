import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { killSimulator, makeSimulatorHome, password, type Simulator, startSimulator } from '../simulator.ts'
import { makeRelay, type Relay } from './relay.ts'

/**
 * R5 of the reliability goals, while messages are sent: a carrier link that flaps, falls silent, throttles, breaks in
 * the middle of a PDU, or whose carrier is killed. Short form here; `npm run chaos` runs for ten minutes. The
 * platform's own death is covered by kill.test.ts: the order of rescheduled messages holds within one process.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const seconds = long ? Number(process.env.TRUNKLINE_TEST_SECONDS ?? 600) : 0
/** Senders with a handset of their own, so that the order of the answers is the order of the messages. */
const senders = long ? 8 : 4

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = Math.imul(seed, 2_654_435_761)
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}
const between = (least: number, most: number) => least + chance() * (most - least)

const handsets = Array.from({ length: senders }, (_, i) => `+44770090110${i}`)
const binds = 2

type Trouble = 'flap' | 'mute' | 'cut' | 'throttle' | 'deaf' | 'half_pdu' | 'carrier killed'
const troubles: readonly Trouble[] = [
  ...(['flap', 'mute', 'cut', 'throttle', 'deaf', 'half_pdu', 'carrier killed'] as const),
]

/** The faults of a run in an order that follows from the seed: all of them, or the first four in the short form. */
const shuffled = (): Trouble[] => {
  const left = [...troubles]
  const order = troubles.map(() => left.splice(Math.floor(chance() * left.length), 1)[0] ?? 'flap')
  return long ? order : order.slice(0, 4)
}

test(`no link fault loses a message or swaps two (seed ${seed})`, async (t: TestContext) => {
  const simulatorHome = await makeSimulatorHome(t)
  let simulator: Simulator = await startSimulator(t, simulatorHome)
  const relay: Relay = await makeRelay(t, simulator.smppPort)
  const platform = await startPlatform()
  t.after(() => platform.end('SIGKILL'))
  const settings = {
    ...{ host: '127.0.0.1', port: relay.port, system_id: 'chaos', password, prefixes: ['44'], binds },
    ...{ response_seconds: 1, enquire_seconds: 1, reconnect_seconds: 1 },
  }
  const created = await platform.call('POST', '/operator/connections', { kind: 'smpp', name: 'chaos', settings })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const { account } = (await platform.call('GET', '/open/info')).body
  await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '10000' })
  const { number } = await buyNumber(platform)
  const { body } = await platform.call('POST', `/operator/connections/${created.body.connection.uuid}/test`)
  assert.equal(body.working, true, body.message)

  /** Messages answered 202, by handset and in the order of their answers. */
  const accepted = new Map<string, string[]>(handsets.map((handset) => [handset, []]))
  const uuids = new Map<string, string>()
  const statusOf = async (text: string) => {
    const { body } = await platform.call('GET', `/open/sms/message/${uuids.get(text)}`)
    return [body.message.status, body.message.error_code]
  }
  let count = 0
  let stopped = false
  const send = async (to: string) => {
    for (let n = 0; !stopped; n++) {
      const text = `text ${n} to ${to}`
      const body = { from_number: number, to_number: to, text }
      for (;;) {
        const answer = await platform
          .call('POST', '/open/sms/send', body, { 'idempotency-key': text })
          .catch(() => null)
        if (answer?.status === 202) {
          uuids.set(text, answer.body.message_uuid)
          break
        }
        if (answer && answer.status < 500) assert.fail(JSON.stringify(answer))
        await pause(20)
      }
      accepted.get(to)?.push(text)
      count++
      // A rate that a carrier would accept: 10 a second for each sender.
      await pause(100)
    }
  }
  const load = handsets.map(send)

  const make: Record<Trouble, () => Promise<void>> = {
    flap: async () => {
      relay.down()
      await pause(between(300, long ? 2_000 : 800))
      relay.up()
    },
    mute: async () => {
      relay.mute()
      await pause(between(500, long ? 8_000 : 2_500))
      relay.up()
    },
    cut: async () => relay.cut(Math.floor(between(1, 200))),
    throttle: async () => {
      await simulator.call('POST', '/faults', { kind: 'throttle', per_second: long ? 50 : 5 })
      await pause(between(500, 1_500))
      await simulator.call('DELETE', '/faults')
    },
    deaf: async () => {
      await simulator.call('POST', '/faults', { kind: 'deaf' })
      await pause(between(500, 2_000))
      await simulator.call('DELETE', '/faults')
    },
    half_pdu: async () => void (await simulator.call('POST', '/faults', { kind: 'half_pdu', count: 3 })),
    'carrier killed': async () => {
      await killSimulator(simulator)
      simulator = await startSimulator(t, simulatorHome)
      relay.target(simulator.smppPort)
    },
  }
  const began = performance.now()
  const kinds: Trouble[] = []
  do {
    for (const trouble of shuffled()) {
      const enough = count + 10
      await make[trouble]()
      await until(async () => count >= enough, 60)
      kinds.push(trouble)
    }
  } while (performance.now() - began < seconds * 1_000)
  const ended = performance.now()
  stopped = true
  await Promise.all(load)

  const seenBy = async (handset: string): Promise<string[]> => {
    const { sms } = (await simulator.call('GET', `/handsets/${handset}`)) as { sms: { text: string }[] } // the simulator's answer
    return sms.map(({ text }) => text)
  }
  const arrivedAt = async (handset: string) => new Set(await seenBy(handset)).size
  let twice = 0
  for (const [handset, texts] of accepted) {
    let [before, arrived] = [0, 0]
    // In the long form, a busy machine needs minutes for what has gathered: it waits as long as some arrive.
    do {
      before = arrived
      await until(async () => (await arrivedAt(handset)) >= texts.length, 60).catch(() => {})
      arrived = await arrivedAt(handset)
    } while (long && arrived > before && arrived < texts.length)
    const seen = await seenBy(handset)
    const missing = texts.filter((text) => !seen.includes(text))
    const found = await Promise.all(missing.slice(0, 5).map(async (text) => [text, await statusOf(text)]))
    assert.deepEqual(found, [], `${missing.length} of ${texts.length} did not reach ${handset} (seed ${seed})`)
    // A repeated arrival follows a cut link; the first arrival counts.
    const first = [...new Set(seen)]
    const places = new Map(texts.map((text, place) => [text, place]))
    const turned = first.filter((text, i) => i > 0 && (places.get(text) ?? 0) < (places.get(first[i - 1] ?? '') ?? 0))
    assert.deepEqual(turned.slice(0, 5), [], `${turned.length} of ${texts.length} were overtaken (seed ${seed})`)
    twice += seen.length - new Set(seen).size
  }
  const drained = performance.now() - ended

  const lasted = (ended - began) / 1_000
  const perSecond = Map.groupBy(relay.attempts, (at) => Math.floor(at / 1_000))
  const most = Math.max(...[...perSecond.values()].map((list) => list.length))
  assert.ok(most <= 4 * binds, `${most} connections within a second`)
  const breaks = kinds.length
  assert.ok(twice <= breaks * binds * 10, `${twice} came twice`)
  t.diagnostic(
    `${kinds.length} faults in ${lasted.toFixed(1)} s (${[...new Set(kinds)].join(', ')}): ${count} accepted, 0 lost, in order, ` +
      `${twice} twice, ${relay.attempts.length} connections (at most ${most} in a second), drained in ${drained.toFixed(0)} ms`,
  )
})
