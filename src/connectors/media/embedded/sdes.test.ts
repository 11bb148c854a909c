import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaSrtp } from '../../port.ts'
import { done, hears, listen } from '../media.conformance.ts'
import { startEmbedded } from './engine.ts'

const engine = await startEmbedded({
  ...{ bind: '127.0.0.1', advertised: '127.0.0.1', rtpPorts: [0, 0], webrtcPorts: [0, 0], workers: 1 },
  fault: (reason) => assert.fail(reason),
})
after(() => engine.close())

const phones: Telephone[] = []
after(() => Promise.all(phones.map((phone) => phone.close())))
const phone = async () => {
  const made = await makeTelephone()
  phones.push(made)
  return made
}

const codecs = ['pcmu'] as const

/** A leg towards a telephone of its own, bridged to one towards the other platform. */
const open = async () => {
  const { told, events } = listen()
  const call = done(await engine.openCall(events))
  const telephone = await phone()
  const inner = done(await call.addLeg({ id: 'inner', kind: 'rtp', codecs, offer: await telephone.offer() }))
  const answered = async () => telephone.accept(done(await inner.describe()))
  return { told, call, telephone, inner, answered }
}

/** Two calls that speak to each other over the network: who offers, and who answers. */
const connect = async (offers: MediaSrtp, answers: MediaSrtp, change = (text: string) => text) => {
  const [one, other] = [await open(), await open()]
  const offering = done(await one.call.addLeg({ id: 'trunk', kind: 'rtp', codecs, offer: null, srtp: offers }))
  done(await one.call.bridge(one.inner, offering))
  const offer = change(done(await offering.describe()))
  const answering = done(await other.call.addLeg({ id: 'trunk', kind: 'rtp', codecs, offer, srtp: answers }))
  done(await other.call.bridge(other.inner, answering))
  const answer = done(await answering.describe())
  const taken = await offering.accept(answer)
  await Promise.all([one.answered(), other.answered()])
  const close = () => Promise.all([one.call.close(), other.call.close()])
  return { one, other, offering, answering, offer, answer, taken, close }
}

const profileOf = (text: string) => /^m=audio \d+ (\S+)/m.exec(text)?.[1]

for (const [offers, answers, profile, isEncrypted] of [
  ['require', 'offer', 'RTP/SAVP', true],
  ['offer', 'require', 'RTP/AVP', true],
  ['offer', 'never', 'RTP/AVP', false],
  ['never', 'offer', 'RTP/AVP', false],
] as const)
  test(`a leg with srtp ${offers} and one with ${answers} hear each other, encrypted: ${isEncrypted}`, async () => {
    const { one, other, offering, answering, answer, taken, close } = await connect(offers, answers)
    done(taken)
    assert.equal(profileOf(answer), profile)
    assert.equal(/^a=crypto:/m.test(answer), isEncrypted)
    one.telephone.say(1_000)
    other.telephone.say(620)
    await Promise.all([hears(one.telephone, 620), hears(other.telephone, 1_000)])
    // On hold and back, with the same keys.
    for (const direction of ['sendonly', 'sendrecv'] as const)
      done(await offering.accept(done(await answering.renegotiate(done(await offering.reoffer(direction))))))
    await Promise.all([hears(one.telephone, 620), hears(other.telephone, 1_000)])
    await close()
  })

test('packets that the described key did not sign are neither heard nor latched on to', async () => {
  const wrong = (text: string) => text.replace(/inline:\S+/, `inline:${'B'.repeat(40)}`)
  const { one, other, taken, close } = await connect('require', 'require', wrong)
  done(taken)
  one.telephone.say(1_000)
  const dropped = async () => {
    const stats = done(await other.call.stats()).find(({ leg }) => leg === 'trunk')
    return (stats?.dropped ?? 0) > 20 && stats
  }
  const stats = await until(dropped)
  assert.equal(stats.received.packets, 0)
  assert.ok(!other.told.connected.includes('trunk'))
  assert.equal(other.telephone.heard.length, 0)
  await close()
})

test('an answer without a key is refused by a leg that requires one', async () => {
  const { call, inner } = await open()
  const leg = done(await call.addLeg({ id: 'trunk', kind: 'rtp', codecs, offer: null, srtp: 'require' }))
  done(await call.bridge(inner, leg))
  assert.equal(profileOf(done(await leg.describe())), 'RTP/SAVP')
  const plain = await phone()
  for (const answer of [await plain.offer(), (await plain.offer()).replace('RTP/AVP', 'RTP/SAVP')]) {
    const taken = await leg.accept(answer)
    assert.equal(taken.outcome === 'refused' && taken.cause, 'description')
  }
  await call.close()
})
