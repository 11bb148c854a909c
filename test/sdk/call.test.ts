import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { energyShare } from '../../src/adapters/media/tone-testing.ts'
import {
  answer,
  type CallDecision,
  closedAfter,
  dial,
  openMedia,
  receivesTone,
  sdp,
  toBrowsers,
  toCarrier,
} from '../../src/adapters/sip-gateway/testing.ts'
import { makeTelephone, type Telephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openSdkFixture } from './sdk-fixture.ts'
import { openChromium } from './tab.ts'

const media = await openMedia()
after(() => media.close())

/** True when the browser's tone is absent, whether other sound arrives or none. */
const hearsNothing = async (telephone: Telephone, isSent: boolean) => {
  const [heard, said] = [telephone.samples.length, telephone.sent]
  await until(async () => telephone.sent > said + 50)
  if (isSent) await until(async () => telephone.samples.length > heard + 6_000)
  assert.ok(energyShare(telephone.samples.slice(-2_000), 1_000) < 0.1 || telephone.samples.length < heard + 2_000)
}

const inbound = (port: number) => ({ uri: `sip:+44700@127.0.0.1:${port}`, from: '<sip:+33612345678@carrier.test>' })

describe('calls of the SDK', needs('chromium'), () => {
  let browser: Browser
  before(async () => {
    browser = await openChromium()
  })
  after(() => browser?.close())

  const phone = async (t: TestContext) => {
    const made = await closedAfter(t, makeTelephone())
    made.sendTone(620)
    return made
  }

  test('a browser calls a telephone: tones both ways, keys, mute, hold, quality, other devices, and hangs up', async (t) => {
    const deps = await openSdkFixture(t, browser, toCarrier, { media })
    const telephone = await phone(t)
    const ann = await deps.tab('ANN', { defaultExtraHeaders: ['X-Desk: 4'] })
    await ann.run(`dial({ to: '+33 6 12 34 56 78', callerId: '+33187654321', headers: { Ticket: '7' } })`)
    assert.equal(await ann.run('call.getStatus()'), 'pending')
    const incoming = await deps.carrier.call()
    incoming.ring({ status: 180 })
    await ann.waitForEvent('call ringing')
    assert.equal(await ann.run('call.getStatus()'), 'ringing')
    const { ends } = await answer(incoming, telephone, {
      offered: async ({ body }) => {
        const own = await telephone.answer(body.toString())
        return { status: 200, body: sdp(own.replace('sendrecv', body.includes('sendonly') ? 'recvonly' : 'sendrecv')) }
      },
    })
    await ann.waitForEvent('call accepted')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    const [placed] = deps.callControl.of('place')
    assert.partialDeepStrictEqual(placed?.about, {
      ...{ person: { account: 'one', user: 'ANN' }, to: '+33612345678', from: '+33187654321' },
      headers: { 'X-Desk': '4', 'X-Ticket': '7' },
    })

    await ann.run(`call.sendDigits('0123456789*#ABCD')`)
    await until(async () => telephone.digits.length >= 16)
    assert.equal(telephone.digits, '0123456789*#ABCD')

    await ann.run('call.mute(true)')
    assert.equal(await ann.run('call.isMuted()'), true)
    await hearsNothing(telephone, true)
    await ann.run('call.mute(false)')
    await receivesTone(telephone, 1_000)

    await ann.run('call.hold(true)')
    assert.equal(await ann.run('call.isOnHold()'), true)
    await hearsNothing(telephone, false)
    await ann.run('call.hold(false)')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    assert.equal(telephone.sequences.length, new Set(telephone.sequences).size, 'no packet came twice')
    assert.deepEqual(
      (await ann.events()).filter(({ what }) => ['call mute', 'call hold'].includes(what)).map(({ about }) => about),
      [
        ...[{ muted: true }, { muted: false }],
        ...[
          { onHold: true, by: 'local' },
          { onHold: false, by: 'local' },
        ],
      ],
    )

    const devices = await ann.run<{ kind: string; id: string }[]>(
      `navigator.mediaDevices.enumerateDevices().then((all) => all.map(({ kind, deviceId }) => ({ kind, id: deviceId })))`,
    )
    const last = (kind: string) => devices.filter((device) => device.kind === kind).at(-1)?.id
    await ann.run(`call.mute(true)`)
    await ann.run(`call.setInputDevice(${JSON.stringify(last('audioinput'))})`)
    await hearsNothing(telephone, true)
    await ann.run(`call.mute(false)`)
    await ann.run(`call.setOutputDevice(${JSON.stringify(last('audiooutput'))})`)
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])

    const quality = await until(() => ann.run<{ mos: number; codec: string }>('window.quality'))
    assert.ok(quality.mos > 3 && quality.codec === 'audio/PCMU', JSON.stringify(quality))
    await ann.run('call.disconnect()')
    const end = await ann.waitForEvent('call disconnect')
    assert.deepEqual(end, { reason: 'hangup', by: 'local', status: null, message: '' })
    await until(async () => ends.length === 1)
    assert.equal(await ann.run('call.getStatus()'), 'disconnected')
  })

  test('early media of a carrier are heard, and the call continues after the answer', async (t) => {
    const deps = await openSdkFixture(t, browser, toCarrier, { media })
    const telephone = await phone(t)
    const ann = await deps.tab('ANN')
    await ann.run(`dial({ to: '+33612345678' })`)
    const incoming = await deps.carrier.call()
    incoming.ring({ status: 183, body: sdp(await telephone.answer(incoming.invite.body.toString())) })
    await ann.waitForEvent('call ringing')
    await ann.waitForTone(620)
    await answer(incoming, telephone)
    await ann.waitForEvent('call accepted')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    await ann.run('call.disconnect()')
    assert.equal((await ann.events('call error')).length, 0)
  })

  test('a telephone calls a browser: it rings, hears the ringtone, and talks until the telephone hangs up', async (t) => {
    const deps = await openSdkFixture(t, browser, toBrowsers('ANN'), { media })
    const telephone = await phone(t)
    const ann = await deps.tab('ANN', { ringtoneUrl: '/ring.wav' })
    await ann.run(`HTMLMediaElement.prototype.play = ((play) => function () {
      if (this.src.endsWith('ring.wav')) window.tone = this
      return play.call(this)
    })(HTMLMediaElement.prototype.play)`)
    const { dialled } = await dial(deps.carrier, inbound(deps.gateway.port), telephone)
    assert.equal(await ann.waitForEvent('incoming'), '+33187654321')
    await until(async () => dialled.progress.includes(180))
    await until(() => ann.run('window.tone?.loop === true && !tone.paused'))
    await ann.run('call.accept()')
    await until(async () => dialled.session)
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    assert.equal(await ann.run('tone.paused'), true)
    await dialled.session?.bye()
    assert.partialDeepStrictEqual(await ann.waitForEvent('call disconnect'), { reason: 'hangup', by: 'remote' })
  })

  test('a caller of a busy or rejecting browser hears busy, and a caller who gives up is reported as canceled', async (t) => {
    let to: CallDecision = toBrowsers('ANN')
    const deps = await openSdkFixture(t, browser, (call) => to(call), { media })
    const ann = await deps.tab('ANN')
    const ring = async () => dial(deps.carrier, inbound(deps.gateway.port), await phone(t))
    const first = await ring()
    await ann.waitForEvent('incoming')
    const second = await ring()
    await until(async () => second.dialled.refused.length === 1)
    assert.match(second.dialled.refused[0] ?? '', /^486/)
    await ann.run('call.reject()')
    await until(async () => first.dialled.refused.length === 1)
    assert.match(first.dialled.refused[0] ?? '', /^486/)
    const third = await ring()
    await ann.waitForEvent('incoming', 2)
    third.call.cancel()
    await ann.waitForEvent('call disconnect', 2)
    const ends = (await ann.events('call disconnect')).map(({ about }) => about)
    assert.partialDeepStrictEqual(ends, [{ reason: 'rejected', by: 'local' }, { reason: 'canceled' }])
    assert.equal(await ann.run('attempt(call.accept())'), 'VoiceError CALL_FAILED')

    // The same in the opposite direction.
    to = toCarrier
    for (const [status, reason] of [
      [486, 'busy'],
      [603, 'rejected'],
      [480, 'no_answer'],
    ] as const) {
      await ann.run(`dial({ to: '+33612345678' })`)
      ;(await deps.carrier.call()).refuse({ status })
      await until(() => ann.run(`call.getStatus() === 'failed'`))
      assert.partialDeepStrictEqual(await ann.waitForEvent('call disconnect'), { reason, by: 'remote', status })
    }
    to = () => ({ refused: { status: 403, reason: 'This destination is not allowed' } })
    await ann.run(`dial({ to: '+33612345678' })`)
    const message = 'The call failed: This destination is not allowed (403)'
    assert.deepEqual(await ann.waitForEvent('call error'), { code: 'CALL_FAILED', message })
    assert.deepEqual(await ann.run(`attempt(device.connect({ to: 'no@number' }))`), 'VoiceError CALL_FAILED')
  })

  test('a browser calls another one, and both talk by Opus', async (t) => {
    const deps = await openSdkFixture(t, browser, toBrowsers('BOB'), { media })
    const [ann, bob] = [await deps.tab('ANN'), await deps.tab('BOB')]
    await ann.run(`dial({ to: 'USRBOB', headers: { Order: '7' } })`)
    await bob.waitForEvent('incoming')
    assert.deepEqual(await bob.run('call.customHeaders'), { Order: '7' })
    await bob.run('call.accept()')
    await Promise.all([ann.waitForTone(1_000), bob.waitForTone(1_000)])
    for (const one of [ann, bob])
      assert.equal((await until(() => one.run<{ codec: string }>('window.quality'))).codec, 'audio/opus')
    await bob.run('call.hold(true)')
    assert.deepEqual(await ann.waitForEvent('call hold'), { onHold: true, by: 'remote' })
    await bob.run('call.hold(false)')
    await bob.waitForTone(1_000)
    await ann.run('call.disconnect()')
    await bob.waitForEvent('call disconnect')
  })
})
