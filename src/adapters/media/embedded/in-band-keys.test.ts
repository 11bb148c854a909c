import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readRtp, writeRtp } from '@trunkline/rtp/rtp.ts'
import { makeTelephone, type Telephone, withDescription } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import { connectPeers, logEvents, unwrap } from '../media.conformance.ts'
import { dtmfTonePackets } from './dtmf-tones.ts'
import { startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'
import { ToneKeyDetector } from './tone-key-detector.ts'

// Peers without telephone events (RFC 4733): keys are tones in the audio.

const engine = await startEmbedded({
  ...loopback,
  fault: (reason) => assert.fail(reason),
})
const ending: (() => Promise<void>)[] = []
after(async () => {
  for (const end of ending) await end()
  await engine.close()
})

const phone = async (hasEvents = false, adds: readonly string[] = []): Promise<Telephone> => {
  const telephone = await makeTelephone()
  ending.push(telephone.close)
  return withDescription(telephone, { adds, omits: hasEvents ? /^$/ : /telephone-event|^a=fmtp/ })
}

/** A stream of tones from a telephone, which continues with each call. */
const toneSender = (telephone: Telephone) => {
  let [sequence, start] = [0, 0]
  return async (digits: string) => {
    const packets = [...dtmfTonePackets(digits, 'pcmu')]
    for (const { timestamp, marker, payload } of packets) {
      const packet = { payloadType: 0, marker, sequence: sequence++, timestamp: start + timestamp, ssrc: 7, payload }
      await telephone.sendPacket(writeRtp(packet))
    }
    start += packets.length * 160
  }
}

/** Keys in the tones that a telephone has heard. */
const heardBy = (telephone: Telephone): string => {
  const detector = new ToneKeyDetector()
  return telephone.packets
    .flatMap((packet) => readRtp(packet) ?? [])
    .map((packet) => detector.detect('pcmu', packet))
    .join('')
}

test('tones of a telephone are its keys from the moment they are waited for', async () => {
  const telephone = await phone()
  const { log, events } = logEvents()
  const call = unwrap(await engine.openCall(events))
  const leg = unwrap(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs: ['pcmu'] }))
  unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
  const sound = toneSender(telephone)
  await sound('77')
  await until(async () => unwrap(await call.stats())[0]?.received.packets === 16)
  unwrap(await leg.listenForKeys())
  await sound('12')
  await until(async () => log.digits.length >= 2)
  assert.deepEqual(log.digits, ['callee 1', 'callee 2'])
  await call.close()
})

test('tones of a telephone that sends its keys as telephone events are no further keys', async () => {
  const telephone = await phone(true)
  const { log, events } = logEvents()
  const call = unwrap(await engine.openCall(events))
  const leg = unwrap(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs: ['pcmu'] }))
  unwrap(await leg.accept(await telephone.answer(unwrap(await leg.describe()))))
  unwrap(await leg.listenForKeys())
  await toneSender(telephone)('12')
  await telephone.press('5')
  await until(async () => log.digits.length > 0)
  assert.deepEqual(log.digits, ['callee 5'])
  await call.close()
})

test('keys pressed as telephone events sound as tones for a peer without them, each once, as caller and as callee', async () => {
  for (const isCaller of [false, true]) {
    const [near, far] = [await phone(true), await phone()]
    const { call, log } = await (isCaller
      ? connectPeers(engine, [far, 'rtp'], [near, 'rtp'])
      : connectPeers(engine, [near, 'rtp'], [far, 'rtp']))
    near.sendTone(0)
    await near.press('159D')
    await until(async () => heardBy(far).length >= 4)
    assert.equal(heardBy(far), '159D')
    const side = isCaller ? 'callee' : 'caller'
    assert.deepEqual(log.digits, [`${side} 1`, `${side} 5`, `${side} 9`, `${side} D`])
    assert.equal(far.sequences.length, new Set(far.sequences).size)
    await call.close()
  }
})

test('keys that we send sound as tones for a peer without telephone events, in its packets, and the audio goes on', async () => {
  const [near, far] = [await phone(true), await phone(false, ['a=maxptime:10'])]
  const { call, callee } = await connectPeers(engine, [near, 'rtp'], [far, 'rtp'])
  near.sendTone(0)
  const sent = callee.sendKeys('0#')
  assert.equal((await callee.sendKeys('1')).outcome, 'refused')
  unwrap(await sent)
  const after = far.received
  await until(async () => far.received > after + 5)
  assert.equal(heardBy(far), '0#')
  await call.close()
})
