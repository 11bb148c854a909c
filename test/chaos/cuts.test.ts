import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connectSmpp } from '../../src/adapters/smpp/smpp-carrier.ts'
import { ignoreIntake } from '../../src/adapters/smpp/testing.ts'
import { until } from '../platform.ts'
import {
  handsetMessages,
  makeSimulatorHome,
  ownNumber,
  password,
  type Simulator,
  startSimulator,
} from '../simulator.ts'
import { makeRelay } from './relay.ts'

// R4 of the reliability goals: the link breaks after each octet that a carrier sends.

/** Sizes of the SMSC's responses, in octets: bind_transceiver_resp and submit_sm_resp. */
const [bindAnswer, submitAnswer] = [31, 33]

/**
 * Cuts the link after this number of the carrier's octets.
 * @returns our outcome of a submit, and whether the carrier received it
 */
const cutAfter = async (t: TestContext, simulator: Simulator, octets: number) => {
  const relay = await makeRelay(t, simulator.smppPort)
  const destination = `+336123456${String(octets).padStart(2, '0')}`
  relay.cut(octets)
  const carrier = connectSmpp(
    { host: '127.0.0.1', port: relay.port, system_id: 'cut', password },
    { ...ignoreIntake, changed: () => {} },
  )
  t.after(() => carrier.close())
  await until(async () => carrier.freeWindow() > 0)
  const part = {
    message: 'm',
    part: 1,
    parts: 1,
    source: ownNumber,
    destination,
    reference: 0,
    encoding: 'gsm7' as const,
  }
  const { outcome } = await carrier.submit({ ...part, text: 'once' })
  // The session recovers, whichever octet broke it.
  await until(async () => carrier.freeWindow() > 0)
  const again = await carrier.submit({ ...part, text: 'again' })
  const texts = (await handsetMessages(simulator, destination)).map(({ text }) => text)
  return { outcome, again: again.outcome, once: texts.filter((text) => text === 'once').length, texts }
}

test('wherever the link breaks, an accepted submit arrived once and a submit to retry never arrived', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const points = Array.from({ length: bindAnswer + submitAnswer - 1 }, (_, i) => i + 1)
  const results = await Promise.all(
    points.map(async (octets) => ({ octets, ...(await cutAfter(t, simulator, octets)) })),
  )
  for (const { octets, outcome, again, once, texts } of results) {
    assert.equal(again, 'accepted', `after ${octets} octets`)
    assert.equal(texts.filter((text) => text === 'again').length, 1)
    assert.ok(once <= 1)
    if (outcome === 'accepted') assert.equal(once, 1, `after ${octets} octets: ${outcome}`)
    else if (outcome === 'retry') assert.equal(once, 0, `after ${octets} octets: ${outcome}`)
    else assert.equal(outcome, 'unknown')
    // Before the whole bind response, nothing can have been submitted. After it, the whole submit response is needed.
    if (octets !== bindAnswer) assert.equal(outcome === 'accepted', octets < bindAnswer, `after ${octets} octets`)
  }
})
