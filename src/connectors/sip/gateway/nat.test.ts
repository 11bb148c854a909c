import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import type { VoiceFinding } from '../../voice-port.ts'
import type { IncomingCall } from '../codec/dialog/incoming.ts'
import { ManualTimers, nothing, openAgent, until } from '../testing.ts'
import {
  answer,
  dial,
  flows,
  fromBrowser,
  hears,
  kept,
  openCarrier,
  openMedia,
  openWorld,
  toCarrier,
  trunkOf,
} from './testing.ts'

// A carrier's end behind a NAT: its description names an address of its own net (RFC 8866, 5.7), its packets come from another one.

const media = await openMedia()
after(() => media.close())

const outside = '127.0.0.2'
const hidden = '192.168.7.7'

/** A world whose trunk has its signalling at `outside`. */
const openHidden = async (t: TestContext) => {
  const world = await openWorld(t, toCarrier, { media })
  const carrier = await openCarrier(t, outside)
  await world.gateway.apply([trunkOf(carrier.port, { host: outside })])
  await until(() => world.gateway.trunk('carrier')?.state === 'up')
  return { ...world, carrier }
}

const call = async (
  t: TestContext,
  { browser, carrier }: Awaited<ReturnType<typeof openHidden>>,
  callee: Telephone,
) => {
  const caller = await browser('ANN')
  const softphone = await kept(t, makeSoftphone())
  const { dialled } = await dial(caller, fromBrowser(caller), softphone)
  await answer(await carrier.call(), callee)
  const session = await until(() => dialled.session)
  await flows(softphone)
  softphone.say(1_000)
  callee.say(620)
  return { softphone, session }
}

test('an outbound call is heard both ways when the callee sends from its signalling address, not the described one', async (t) => {
  const world = await openHidden(t)
  const callee = await kept(t, makeTelephone('pcmu', hidden, null, outside))
  const { softphone, session } = await call(t, world, callee)
  await Promise.all([hears(softphone, 620), hears(callee, 1_000)])
  assert.deepEqual(
    world.desk.traces.filter((text) => text.includes('dropped')),
    [],
  )
  await session.bye()
})

test('packets to an outbound call from a third address are dropped, counted, and named in the timeline', async (t) => {
  const world = await openHidden(t)
  const callee = await kept(t, makeTelephone('pcmu', hidden, null, '127.0.0.3'))
  const { softphone, session } = await call(t, world, callee)
  const from = `127.0.0.3:${callee.port}`
  await until(() => world.desk.traces.some((text) => text.includes(`packets from ${from} are dropped`)))
  await session.bye()
  const end = await world.ended()
  const stats = end.stats.find(({ leg }) => leg === 'callee')
  assert.ok((stats?.dropped ?? 0) > 0)
  assert.equal(stats?.received.packets, 0)
  assert.ok(!softphone.heard.some((sample) => Math.abs(sample) > 100))
  assert.equal(world.desk.traces.filter((text) => text.includes('are dropped')).length, 1)
})

test('the echo test of a trunk hears a callee that sends from its signalling address', async (t) => {
  const { gateway, carrier } = await openHidden(t)
  const callee = await kept(t, makeTelephone('pcmu', hidden, null, outside))
  const examining = Array.fromAsync(gateway.examine('carrier', '+33612345678'))
  await answer(await carrier.call(), callee)
  callee.say(1_000)
  const found = (await examining).find(({ what }) => what === 'media')
  assert.ok(found?.well, String(found?.found))
})

test('a trunk that answers no OPTIONS and takes calls is checked to the end: that is a warning', async (t) => {
  const timers = new ManualTimers()
  const { gateway } = await openWorld(t, toCarrier, { media, timers })
  const calls: IncomingCall[] = []
  // A carrier that drops OPTIONS, and answers INVITE.
  const carrier = await openAgent(t, {
    handlers: {
      ...nothing,
      admits: (_, request) => request?.method !== 'OPTIONS',
      onInvite: (call) => void calls.push(call),
    },
  })
  await gateway.apply([trunkOf(carrier.udp)])
  const callee = await kept(t, makeTelephone())
  callee.say(1_000)
  const examined = async (echo: string | null) => {
    let isAnswered = false
    let found: VoiceFinding[] | null = null
    const examining = Array.fromAsync(gateway.examine('carrier', echo)).then((all) => {
      found = all
    })
    await until(async () => {
      const call = calls.shift()
      if (call) {
        isAnswered = true
        await answer(call, callee)
      }
      // The echo is listened to for three seconds of the gateway's clock, while packets come by the real one.
      if (!isAnswered || callee.received > 60) timers.advance(100)
      return found
    })
    await examining
    return (found ?? []).map(({ what, well, isWarning = false }) => `${what} ${well} ${isWarning}`)
  }
  assert.deepEqual(await examined(null), ['dns true false', 'options false false'])
  assert.deepEqual(await examined('+33612345678'), [
    ...['dns true false', 'options false true', 'codecs true false', 'media true false'],
  ])
})
