import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import type { MediaSound } from '../../../ports/media.ts'
import type { VoiceDialOptions, VoiceLine, VoicePlan, VoiceTarget } from '../../../ports/voice.ts'
import type { GatewaySettings } from '../gateway.ts'
import { answer, closedAfter, dial, openMedia, openWorld, receivesTone, sdp } from '../testing.ts'

const media = await openMedia()
after(() => media.close())

const number = '+442079460123'
const toCarrier: VoiceTarget = { trunk: 'carrier', number }

const tone = (hertz: number): MediaSound => ({ tones: [hertz], onMs: 60_000, offMs: 0, loop: 0 })

/** Plays a tone to the party until something else is played. */
const play = (line: VoiceLine, hertz: number) => {
  assert.ok(line.leg)
  void line.leg.play([tone(hertz)])
}

const keyOf = (line: VoiceLine) =>
  new Promise<string>((resolve) => {
    const stop = line.keys((key) => {
      stop()
      resolve(key)
    })
  })

const whenGone = ({ gone }: VoiceLine) =>
  new Promise<void>((resolve) => {
    if (gone.aborted) resolve()
    gone.addEventListener('abort', () => resolve())
  })

const hungUp = { how: 'completed', status: 200, reason: 'The program hangs up' } as const

/** A gateway whose calls from a carrier run this program. */
const open = async (t: TestContext, run: (line: VoiceLine) => Promise<void>, settings: Partial<GatewaySettings> = {}) => {
  const world = await openWorld(t, () => ({ value: { program: { run } } }), { media, ...settings })
  const telephone = () => closedAfter(t, makeTelephone())
  const { gateway, carrier, callControl } = world
  const ask = {
    uri: `sip:33187654321@127.0.0.1:${gateway.port}`,
    from: '<sip:0033612345678@carrier.test>',
  }
  /** The carrier calls us. */
  const receive = async (own?: Telephone) => {
    const peer = own ?? (await telephone())
    return { peer, ...(await dial(carrier, ask, peer)) }
  }
  const ends = () => callControl.of('ended').map(({ about }) => Object(about))
  return { ...world, telephone, receive, ask, ends }
}

test('a program answers, plays, hears keys in both transports once, and hangs up', async (t) => {
  const keys: string[] = []
  const { callControl, gateway, receive, ended } = await open(t, async (line) => {
    assert.equal(line.leg, null)
    await line.ring()
    assert.equal(await line.answer(), true)
    assert.equal(await line.answer(), true)
    line.keys((key) => keys.push(key))
    play(line, 440)
    await until(() => keys.join('') === '12#')
    line.note('all keys are here')
    line.hangUp(hungUp)
    assert.equal(line.gone.aborted, true)
    assert.equal(await line.answer(), false)
  })
  const { peer, dialled } = await receive()
  const session = await until(() => dialled.session)
  assert.deepEqual(dialled.progress, [180])
  await receivesTone(peer, 440)
  for (const key of '12#') {
    await peer.press(key)
    await session.info({ body: { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` } })
  }
  const { how, by, stats } = await ended()
  assert.deepEqual([how, by, stats.map(({ leg }) => leg)], ['completed', null, ['caller']])
  await until(() => dialled.ends.length === 1)
  assert.deepEqual(keys.join(''), '12#')
  assert.deepEqual(callControl.order(), ['receive', 'ringing', 'answered', 'ended'])
  assert.ok(callControl.traces.includes('all keys are here'))
  await until(() => gateway.calls() === 0 && gateway.trunk('carrier')?.calls === 0 && media.state().calls === 0)
})
