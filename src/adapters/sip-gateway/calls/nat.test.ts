import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { defaultHandlers, ManualTimers, openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import type { VoiceFinding } from '../../../ports/voice.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openCarrier,
  openMedia,
  openWorld,
  receivesTone,
  toCarrier,
  trunkOf,
} from '../testing.ts'

// A carrier endpoint behind a NAT: its description names an address of its own network (RFC 8866, 5.7), and its
// packets come from another one.

const media = await openMedia()
after(() => media.close())

const outside = '127.0.0.2'
const hidden = '192.168.7.7'

/** A gateway with a trunk whose signalling address is `outside`. */
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
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(caller, fromBrowser(caller), softphone)
  await answer(await carrier.call(), callee)
  const session = await until(() => dialled.session)
  await mediaFlow(softphone)
  softphone.sendTone(1_000)
  callee.sendTone(620)
  return { softphone, session }
}

test('an outbound call has audio in both directions when the callee sends from its signalling address', async (t) => {
  const world = await openHidden(t)
  const callee = await closedAfter(t, makeTelephone('pcmu', hidden, null, outside))
  const { softphone, session } = await call(t, world, callee)
  await Promise.all([receivesTone(softphone, 620), receivesTone(callee, 1_000)])
  assert.deepEqual(
    world.callControl.traces.filter((text) => text.includes('dropped')),
    [],
  )
  await session.bye()
})

test('packets to an outbound call from a third address are dropped, counted and named in the timeline', async (t) => {
  const world = await openHidden(t)
  const callee = await closedAfter(t, makeTelephone('pcmu', hidden, null, '127.0.0.3'))
  const { softphone, session } = await call(t, world, callee)
  const from = `127.0.0.3:${callee.port}`
  await until(() => world.callControl.traces.some((text) => text.includes(`packets from ${from} are dropped`)))
  await session.bye()
  const end = await world.ended()
  const stats = end.stats.find(({ leg }) => leg === 'callee')
  assert.ok((stats?.dropped ?? 0) > 0)
  assert.equal(stats?.received.packets, 0)
  assert.ok(!softphone.samples.some((sample) => Math.abs(sample) > 100))
  assert.equal(world.callControl.traces.filter((text) => text.includes('are dropped')).length, 1)
})

test('the echo test of a trunk receives audio from the callee’s signalling address', async (t) => {
  const { gateway, carrier } = await openHidden(t)
  const callee = await closedAfter(t, makeTelephone('pcmu', hidden, null, outside))
  const examining = Array.fromAsync(gateway.diagnose('carrier', '+33612345678'))
  await answer(await carrier.call(), callee)
  callee.sendTone(1_000)
  const found = (await examining).find(({ what }) => what === 'media')
  assert.ok(found?.well, String(found?.found))
})

test('a trunk that takes calls but answers no OPTIONS passes the diagnostics with a warning', async (t) => {
  const timers = new ManualTimers()
  const { gateway } = await openWorld(t, toCarrier, { media, timers })
  const calls: IncomingCall[] = []
  // A carrier that drops OPTIONS and answers INVITE.
  const carrier = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      isAllowed: (_, request) => request?.method !== 'OPTIONS',
      onInvite: (call) => void calls.push(call),
    },
  })
  await gateway.apply([trunkOf(carrier.udp)])
  const callee = await closedAfter(t, makeTelephone())
  callee.sendTone(1_000)
  const examined = async (echo: string | null) => {
    let isAnswered = false
    let found: VoiceFinding[] | null = null
    const examining = Array.fromAsync(gateway.diagnose('carrier', echo)).then((all) => {
      found = all
    })
    await until(async () => {
      const call = calls.shift()
      if (call) {
        isAnswered = true
        await answer(call, callee)
      }
      // The test listens to the echo for 3 s of the gateway's clock, while packets arrive by the real one.
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
