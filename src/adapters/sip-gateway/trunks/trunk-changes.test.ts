import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, type TestContext, test } from 'node:test'
import { header } from '@trunkline/sip/message.ts'
import { defaultHandlers, ManualTimers, openAgent, openPeer, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import type { VoiceTrunkChange } from '../../../ports/voice.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openMedia,
  openWorld,
  toCarrier,
  trunkOf,
} from '../testing.ts'

// Changes to a running trunk.

const media = await openMedia()
after(() => media.close())

/** A call between a browser and the carrier. */
const talk = async (t: TestContext) => {
  const world = await openWorld(t, toCarrier, { media })
  const browser = await world.browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(browser, fromBrowser(browser), softphone)
  const { session } = await answer(await world.carrier.call(), await closedAfter(t, makeTelephone()))
  await until(() => dialled.session)
  await mediaFlow(softphone)
  return { ...world, caller: browser, dialled, session }
}

test('a trunk that is removed during a call can still hang it up', async (t) => {
  const { gateway, session, ended, dialled } = await talk(t)
  await gateway.apply([])
  assert.equal(await session.bye(), true)
  const end = await ended()
  assert.deepEqual([end.how, end.by], ['completed', 'callee'])
  await until(() => dialled.ends.length > 0, 'the BYE at the browser')
})

test('a trunk that is removed and added during a call still counts it exactly once', async (t) => {
  const { gateway, carrier, session, ended, caller } = await talk(t)
  assert.equal(gateway.trunk('carrier')?.calls, 1)
  await gateway.apply([])
  await gateway.apply([trunkOf(carrier.port, { channels: 1 })])
  await until(() => gateway.trunk('carrier')?.state === 'up')
  assert.equal(gateway.trunk('carrier')?.calls, 1)
  const { dialled: second } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  assert.match(await until(() => second.refused[0]), /^503/)
  await session.bye()
  await ended()
  await until(() => gateway.calls() === 0)
  assert.equal(gateway.trunk('carrier')?.calls, 0)
})

test('a trunk stays registered when its settings change, with the same or with a new registration', async (t) => {
  const { gateway } = await openWorld(t, toCarrier, { media })
  const requested: (string | null)[] = []
  const { udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onRegister: (request) => {
        requested.push(header(request, 'Expires'))
        return { status: 200, headers: [['Contact', `${header(request, 'Contact')};expires=${requested.at(-1)}`]] }
      },
    },
  })
  const plain = { username: 'acme', password: 'old', register: true } as const
  await gateway.apply([trunkOf(udp, plain)])
  await until(() => gateway.trunk('carrier')?.registered)
  await gateway.apply([trunkOf(udp, { ...plain, name: 'another' })])
  assert.equal(gateway.trunk('carrier')?.registered, true)
  assert.deepEqual(requested, ['600'])
  await gateway.apply([trunkOf(udp, { ...plain, name: 'another', password: 'new' })])
  await until(() => gateway.trunk('carrier')?.registered)
  assert.deepEqual(requested, ['600', '0', '600'])
  await gateway.apply([])
  await until(() => requested.length === 4)
  assert.deepEqual(requested, ['600', '0', '600', '0'])
})

test('a trunk that is known to be down is tried after all others', async (t) => {
  const timers = new ManualTimers()
  const targets = ['silent', 'carrier'].map((trunk) => ({ trunk, number: '+33612345678' }))
  const { gateway, carrier, browser } = await openWorld(t, () => ({ value: { targets } }), { media, timers })
  const silent = await openPeer(t)
  await gateway.apply([trunkOf(silent.port, { id: 'silent' }), trunkOf(carrier.port)])
  await until(() => silent.heard.length > 0)
  timers.advance(4_000)
  await until(() => gateway.trunk('silent')?.state === 'down')
  const caller = await browser('ANN')
  await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  await carrier.call()
  assert.ok(silent.heard.every((heard) => heard.kind === 'request' && heard.method !== 'INVITE'))
})

test('a trunk that goes down, stays down and comes back is reported twice', async (t) => {
  const timers = new ManualTimers()
  const changes: string[] = []
  const trunkChanged = ({ name, what, reason }: VoiceTrunkChange) =>
    void changes.push(`${name} ${what}${reason === null ? '' : ': a reason'}`)
  const { gateway } = await openWorld(t, toCarrier, { media, timers, trunkChanged })
  changes.length = 0
  let isAnswering = true
  let pings = 0
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.on('message', (request, { port }) => {
    pings++
    const fields = String(request).match(/^(?:Via|From|To|Call-ID|CSeq): .*$/gm) ?? []
    if (isAnswering)
      socket.send(`SIP/2.0 200 OK\r\n${fields.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`, port, '127.0.0.1')
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  await gateway.apply([trunkOf(socket.address().port, { id: 'peer', name: 'the peer', pingSeconds: 30 })])
  const reaches = (state: 'up' | 'down') => until(() => gateway.trunk('peer')?.state === state)
  const nextPing = () => {
    const before = pings
    timers.advance(30_000)
    return until(() => pings > before)
  }
  await reaches('up')
  isAnswering = false
  for (let failed = 0; failed < 3; failed++) {
    await nextPing()
    timers.advance(4_000)
    await reaches('down')
  }
  isAnswering = true
  await nextPing()
  await reaches('up')
  assert.deepEqual(changes, ['the peer up', 'the peer down: a reason', 'the peer up'])
})

test('a registration that is refused, or succeeds again, is reported once', async (t) => {
  const timers = new ManualTimers()
  const changes: string[] = []
  const trunkChanged = ({ what, reason }: VoiceTrunkChange) => void changes.push(`${what}: ${reason}`)
  const { gateway } = await openWorld(t, toCarrier, { media, timers, trunkChanged })
  let isRefusing = true
  let requests = 0
  const { udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onRegister: (request) => {
        requests++
        if (isRefusing) return { status: 503 }
        return { status: 200, headers: [['Contact', `${header(request, 'Contact')};expires=600`]] }
      },
    },
  })
  await gateway.apply([trunkOf(udp, { username: 'acme', password: 'pass', register: true })])
  const advanceUntil = (isSo: () => boolean | undefined | null) =>
    until(() => {
      timers.advance(1_000)
      return isSo()
    })
  await advanceUntil(() => requests >= 3)
  isRefusing = false
  await advanceUntil(() => gateway.trunk('carrier')?.registered)
  const found = changes.filter((change) => change.includes('registered'))
  assert.equal(found.length, 2, JSON.stringify(changes))
  assert.match(found[0] ?? '', /^unregistered: .*503/)
  assert.equal(found[1], 'registered: null')
})
