import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import {
  answer,
  type CallDecision,
  closedAfter,
  dial,
  openMedia,
  receivesTone,
  toBrowsers,
  toCarrier,
} from '../../src/adapters/sip-gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openSdkFixture, tokenOf } from './sdk-fixture.ts'
import { openChromium, type Tab } from './tab.ts'

const media = await openMedia()
after(() => media.close())

describe('the Device of the SDK', needs('chromium'), () => {
  let browser: Browser
  before(async () => {
    browser = await openChromium()
  })
  after(() => browser?.close())

  const open = (t: TestContext, decide: CallDecision = toCarrier) => openSdkFixture(t, browser, decide, { media })

  /** An answered call of ANN's. */
  const talk = async (t: TestContext, deps: Awaited<ReturnType<typeof open>>, tab: Tab) => {
    const telephone = await closedAfter(t, makeTelephone())
    telephone.sendTone(620)
    await tab.run(`dial({ to: '+33612345678' })`)
    const { session, ends } = await answer(await deps.carrier.call(), telephone)
    await tab.waitForEvent('call accepted')
    await tab.waitForTone(620)
    return { telephone, session, ends }
  }

  test('a fault of a token or a server is reported by its code', async (t) => {
    const deps = await open(t)
    const tab = await deps.tab('ANN', {}, 60, false)
    const start = (options: object) => tab.run(`attempt(start(${JSON.stringify(options)}))`)
    assert.equal(await start({ token: 'junk' }), 'VoiceError TOKEN_INVALID')
    assert.equal(await start({ token: tokenOf('ANN', -1, deps.url) }), 'VoiceError TOKEN_EXPIRED')
    assert.equal(await start({ token: tokenOf('ANN', 60, 'http://127.0.0.1:9') }), 'VoiceError CONFIG_FETCH_FAILED')
    deps.refusals.set('EVE', { status: 403, error_message: 'The user is not active' })
    assert.equal(await start({ token: tokenOf('EVE', 60, deps.url) }), 'VoiceError AUTH_ERROR')
    assert.equal(await tab.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError NOT_REGISTERED')
    deps.cut()
    assert.equal(await start({ token: tokenOf('ANN', 60, deps.url) }), 'VoiceError TRANSPORT_LOST')
    deps.mend()
    assert.equal(await start({ token: tokenOf('ANN', 60, deps.url) }), 'done')
  })

  test('a token is replaced in place: no REGISTER, the call continues, the warning repeats; another user’s token is refused', async (t) => {
    const deps = await open(t)
    // The warning comes after a second.
    const ann = await deps.tab('ANN', { tokenExpiryLeadMs: 29_000 }, 30)
    const { telephone } = await talk(t, deps, ann)
    const sent = deps.registers.length
    await ann.waitForEvent('tokenWillExpire')
    const update = (user: string) =>
      ann.run(`attempt(device.updateToken(${JSON.stringify(tokenOf(user, 30, deps.url, { jti: 'next' }))}))`)
    assert.equal(await update('ANN'), 'done')
    await ann.waitForEvent('tokenWillExpire', 2)
    assert.equal(await update('EVE'), 'VoiceError AUTH_ERROR')
    assert.equal(await ann.run(`attempt(device.updateToken('junk'))`), 'VoiceError TOKEN_INVALID')
    assert.equal(deps.registers.length, sent)
    assert.equal(deps.callControl.of('admit').length, 1)
    assert.equal(deps.generations.get('ANN'), 1)
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
  })

  test('an expired token ends the registration but not the call, and a new token registers the device again', async (t) => {
    const deps = await open(t)
    const ann = await deps.tab('ANN', { logLevel: 'silent' }, 6)
    const { telephone, session } = await talk(t, deps, ann)
    assert.deepEqual(await ann.waitForEvent('unregistered'), { reason: 'expired' })
    assert.deepEqual(
      (await ann.events('error')).map(({ about }) => about),
      ['TOKEN_EXPIRED'],
    )
    assert.equal(await ann.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError TOKEN_EXPIRED')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    await ann.run(`device.updateToken(${JSON.stringify(tokenOf('ANN', 60, deps.url))})`)
    assert.equal(await ann.run('attempt(device.register())'), 'done')
    assert.ok(deps.gateway.isRegistered({ account: 'one', user: 'ANN' }))
    await session.bye()
    await ann.waitForEvent('call disconnect')
    await ann.run(`dial({ to: '+33612345678' })`)
    await deps.carrier.call()
    assert.equal((await ann.events('unregistered')).length, 1)
  })

  test('a newer tab replaces an older one, which does not reconnect, and whose call continues until its end', async (t) => {
    let to: CallDecision = toCarrier
    const deps = await open(t, (call) => to(call))
    const old = await deps.tab('ANN', {}, 3_600, false)
    await old.page.clock.install()
    await old.page.reload()
    await old.run(`start(${JSON.stringify({ token: tokenOf('ANN', 3_600, deps.url) })})`)
    const { session, telephone } = await talk(t, deps, old)
    const young = await deps.tab('ANN')
    await Promise.all([old.waitForTone(620), receivesTone(telephone, 1_000)])
    to = toBrowsers('ANN')
    const caller = await closedAfter(t, makeTelephone())
    const uri = `sip:+44700@127.0.0.1:${deps.gateway.port}`
    await dial(deps.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await young.waitForEvent('incoming')
    await young.run('call.reject()')
    await session.bye()
    assert.deepEqual(await old.waitForEvent('unregistered'), { reason: 'replaced' })
    assert.equal(await old.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError NOT_REGISTERED')
    const [sockets, registers] = [deps.sockets.size, deps.registers.length]
    // Runs the tab's later retry now.
    await old.page.clock.fastForward(60_000)
    assert.deepEqual([deps.sockets.size, deps.registers.length], [sockets, registers])
    assert.equal((await old.events('unregistered')).length, 1)
    assert.equal((await old.events('incoming')).length, 0)
    // The older tab returns only when its user asks for it.
    await old.run('device.register()')
    assert.deepEqual(await young.waitForEvent('unregistered'), { reason: 'replaced' })
  })

  test('a call that rings at an older tab rings at a newer one, and again at a reloaded page', async (t) => {
    const deps = await open(t, toBrowsers('ANN'))
    const old = await deps.tab('ANN', { logLevel: 'silent' })
    const caller = await closedAfter(t, makeTelephone())
    caller.sendTone(620)
    const uri = `sip:+44700@127.0.0.1:${deps.gateway.port}`
    const { dialled } = await dial(deps.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await old.waitForEvent('incoming')
    await until(async () => dialled.progress.includes(180))
    const young = await deps.tab('ANN', { logLevel: 'silent' })
    await young.waitForEvent('incoming')
    assert.partialDeepStrictEqual(await old.waitForEvent('call disconnect'), { reason: 'canceled' })
    assert.deepEqual(await old.waitForEvent('unregistered'), { reason: 'replaced' })
    await young.page.reload()
    await young.run(`start(${JSON.stringify({ token: tokenOf('ANN', 60, deps.url), logLevel: 'silent' })})`)
    await young.waitForEvent('incoming')
    await young.run('call.accept()')
    await until(async () => dialled.session)
    await Promise.all([young.waitForTone(620), receivesTone(caller, 1_000)])
    assert.equal((await old.events('incoming')).length, 1)
  })

  test('a suspended user is disconnected at once, an unregistered one is not called, and a destroyed device is silent', async (t) => {
    const deps = await open(t, toBrowsers('ANN'))
    const ann = await deps.tab('ANN', { logLevel: 'silent' })
    await deps.gateway.dropRegistrations([{ account: 'one', user: 'ANN' }], 'suspended', true)
    assert.deepEqual(await ann.waitForEvent('unregistered'), { reason: 'suspended' })
    await ann.run('device.register()')
    await ann.run('device.unregister()')
    assert.deepEqual(await ann.waitForEvent('unregistered', 2), { reason: 'requested' })
    const uri = `sip:+44700@127.0.0.1:${deps.gateway.port}`
    const caller = await closedAfter(t, makeTelephone())
    const { dialled } = await dial(deps.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await until(async () => dialled.refused.length === 1)
    await ann.run('device.register()')
    const both = '(() => { const over = attempt(device.unregister()); device.destroy(); return over })()'
    assert.equal(await ann.run(both), 'done')
    assert.equal(await ann.run('attempt(device.register())'), 'VoiceError NOT_REGISTERED')
    assert.equal((await ann.events('unregistered')).length, 3)
  })
})
