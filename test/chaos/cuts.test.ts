import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connectSmpp } from '../../src/connectors/smpp/carrier.ts'
import { until } from '../platform.ts'
import { home, ours, password, type Simulator, sms, start } from '../simulator.ts'
import { makeRelay } from './relay.ts'

// R4 of the reliability goals: the link breaks at each octet of what a carrier says.

/** What the SMSC says to a bind and a submit: octets of bind_transceiver_resp and of submit_sm_resp. */
const [bindAnswer, submitAnswer] = [31, 33]

/** Cuts the link after so many octets of the carrier's; what our side made of a submit and whether the carrier took it. */
const cutAfter = async (t: TestContext, simulator: Simulator, octets: number) => {
  const relay = await makeRelay(t, simulator.smppPort)
  const destination = `+336123456${String(octets).padStart(2, '0')}`
  relay.cut(octets)
  const carrier = connectSmpp(
    { host: '127.0.0.1', port: relay.port, system_id: 'cut', password },
    { changed: () => {}, inbound: async () => {}, receipt: async () => {} },
  )
  t.after(() => carrier.close())
  await until(async () => carrier.room() > 0)
  const part = { message: 'm', part: 1, parts: 1, source: ours, destination, reference: 0, encoding: 'gsm7' as const }
  const { outcome } = await carrier.submit({ ...part, text: 'once' })
  // The session is whole again, whatever broke.
  await until(async () => carrier.room() > 0)
  const again = await carrier.submit({ ...part, text: 'again' })
  const texts = (await sms(simulator, destination)).map(({ text }) => text)
  return { outcome, again: again.outcome, once: texts.filter((text) => text === 'once').length, texts }
}

test('wherever the link breaks, what is said to be sent was sent once, and what is said to be unsent was not', async (t) => {
  const simulator = await start(t, await home(t))
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
    // Before the bind's answer is whole nothing can have been submitted; after it all of the submit's is wanted.
    if (octets !== bindAnswer) assert.equal(outcome === 'accepted', octets < bindAnswer, `after ${octets} octets`)
  }
})
