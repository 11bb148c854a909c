import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import {
  answer,
  type Decide,
  dial,
  hears,
  kept,
  openMedia,
  toBrowsers,
  toCarrier,
} from '../../src/connectors/sip/gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openGround, tokenOf } from './ground.ts'
import { openChromium, type Tab } from './tab.ts'

const media = await openMedia()
after(() => media.close())

describe('the Device of the SDK', needs('chromium'), () => {
  let browser: Browser
  before(async () => {
    browser = await openChromium()
  })
  after(() => browser?.close())

  const open = (t: TestContext, decide: Decide = toCarrier) => openGround(t, browser, decide, { media })

  /** A call of ANN's that is answered. */
  const talk = async (t: TestContext, ground: Awaited<ReturnType<typeof open>>, tab: Tab) => {
    const telephone = await kept(t, makeTelephone())
    telephone.say(620)
    await tab.run(`dial({ to: '+33612345678' })`)
    const { session, ends } = await answer(await ground.carrier.call(), telephone)
    await tab.saw('call accepted')
    await tab.hears(620)
    return { telephone, session, ends }
  }

  test('what is wrong with a token or a server is told by its code', async (t) => {
    const ground = await open(t)
    const tab = await ground.tab('ANN', {}, 60, false)
    const start = (options: object) => tab.run(`attempt(start(${JSON.stringify(options)}))`)
    assert.equal(await start({ token: 'junk' }), 'VoiceError TOKEN_INVALID')
    assert.equal(await start({ token: tokenOf('ANN', -1, ground.url) }), 'VoiceError TOKEN_EXPIRED')
    assert.equal(await start({ token: tokenOf('ANN', 60, 'http://127.0.0.1:9') }), 'VoiceError CONFIG_FETCH_FAILED')
    ground.refusals.set('EVE', { status: 403, error_message: 'The user is not active' })
    assert.equal(await start({ token: tokenOf('EVE', 60, ground.url) }), 'VoiceError AUTH_ERROR')
    assert.equal(await tab.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError NOT_REGISTERED')
    ground.cut()
    assert.equal(await start({ token: tokenOf('ANN', 60, ground.url) }), 'VoiceError TRANSPORT_LOST')
    ground.mend()
    assert.equal(await start({ token: tokenOf('ANN', 60, ground.url) }), 'done')
  })

  test('a token is replaced in place: no REGISTER, the call goes on, the warning comes again; one of another user is refused', async (t) => {
    const ground = await open(t)
    // Warned of after a second.
    const ann = await ground.tab('ANN', { tokenExpiryLeadMs: 29_000 }, 30)
    const { telephone } = await talk(t, ground, ann)
    const sent = ground.registers.length
    await ann.saw('tokenWillExpire')
    const update = (user: string) =>
      ann.run(`attempt(device.updateToken(${JSON.stringify(tokenOf(user, 30, ground.url, { jti: 'next' }))}))`)
    assert.equal(await update('ANN'), 'done')
    await ann.saw('tokenWillExpire', 2)
    assert.equal(await update('EVE'), 'VoiceError AUTH_ERROR')
    assert.equal(await ann.run(`attempt(device.updateToken('junk'))`), 'VoiceError TOKEN_INVALID')
    assert.equal(ground.registers.length, sent)
    assert.equal(ground.desk.of('admit').length, 1)
    assert.equal(ground.generations.get('ANN'), 1)
    await Promise.all([ann.hears(620), hears(telephone, 1_000)])
  })

  test('an old token ends the registration, and the call goes on; with a new one the device is registered again', async (t) => {
    const ground = await open(t)
    const ann = await ground.tab('ANN', { logLevel: 'silent' }, 6)
    const { telephone, session } = await talk(t, ground, ann)
    assert.deepEqual(await ann.saw('unregistered'), { reason: 'expired' })
    assert.deepEqual(
      (await ann.seen('error')).map(({ about }) => about),
      ['TOKEN_EXPIRED'],
    )
    assert.equal(await ann.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError TOKEN_EXPIRED')
    await Promise.all([ann.hears(620), hears(telephone, 1_000)])
    await ann.run(`device.updateToken(${JSON.stringify(tokenOf('ANN', 60, ground.url))})`)
    assert.equal(await ann.run('attempt(device.register())'), 'done')
    assert.ok(ground.gateway.isRegistered({ account: 'one', user: 'ANN' }))
    await session.bye()
    await ann.saw('call disconnect')
    await ann.run(`dial({ to: '+33612345678' })`)
    await ground.carrier.call()
    assert.equal((await ann.seen('unregistered')).length, 1)
  })

  test('a newer tab replaces an older one, which does not come back, and whose call goes on until its end', async (t) => {
    let to: Decide = toCarrier
    const ground = await open(t, (call) => to(call))
    const old = await ground.tab('ANN', {}, 3_600, false)
    await old.page.clock.install()
    await old.page.reload()
    await old.run(`start(${JSON.stringify({ token: tokenOf('ANN', 3_600, ground.url) })})`)
    const { session, telephone } = await talk(t, ground, old)
    const young = await ground.tab('ANN')
    await Promise.all([old.hears(620), hears(telephone, 1_000)])
    to = toBrowsers('ANN')
    const caller = await kept(t, makeTelephone())
    const uri = `sip:+44700@127.0.0.1:${ground.gateway.port}`
    await dial(ground.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await young.saw('incoming')
    await young.run('call.reject()')
    await session.bye()
    assert.deepEqual(await old.saw('unregistered'), { reason: 'replaced' })
    assert.equal(await old.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError NOT_REGISTERED')
    const [sockets, registers] = [ground.sockets.size, ground.registers.length]
    // What it would try later, it tries now.
    await old.page.clock.fastForward(60_000)
    assert.deepEqual([ground.sockets.size, ground.registers.length], [sockets, registers])
    assert.equal((await old.seen('unregistered')).length, 1)
    assert.equal((await old.seen('incoming')).length, 0)
    // Only when its user asks for it.
    await old.run('device.register()')
    assert.deepEqual(await young.saw('unregistered'), { reason: 'replaced' })
  })

  test('a call that rings at an older tab rings at a newer one, and again at a page that is loaded anew', async (t) => {
    const ground = await open(t, toBrowsers('ANN'))
    const old = await ground.tab('ANN', { logLevel: 'silent' })
    const caller = await kept(t, makeTelephone())
    caller.say(620)
    const uri = `sip:+44700@127.0.0.1:${ground.gateway.port}`
    const { dialled } = await dial(ground.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await old.saw('incoming')
    await until(async () => dialled.progress.includes(180))
    const young = await ground.tab('ANN', { logLevel: 'silent' })
    await young.saw('incoming')
    assert.partialDeepStrictEqual(await old.saw('call disconnect'), { reason: 'canceled' })
    assert.deepEqual(await old.saw('unregistered'), { reason: 'replaced' })
    await young.page.reload()
    await young.run(`start(${JSON.stringify({ token: tokenOf('ANN', 60, ground.url), logLevel: 'silent' })})`)
    await young.saw('incoming')
    await young.run('call.accept()')
    await until(async () => dialled.session)
    await Promise.all([young.hears(620), hears(caller, 1_000)])
    assert.equal((await old.seen('incoming')).length, 1)
  })

  test('a user who is suspended is out at once; who unregisters is not called, and a destroyed device is silent', async (t) => {
    const ground = await open(t, toBrowsers('ANN'))
    const ann = await ground.tab('ANN', { logLevel: 'silent' })
    await ground.gateway.drop([{ account: 'one', user: 'ANN' }], 'suspended', true)
    assert.deepEqual(await ann.saw('unregistered'), { reason: 'suspended' })
    await ann.run('device.register()')
    await ann.run('device.unregister()')
    assert.deepEqual(await ann.saw('unregistered', 2), { reason: 'requested' })
    const uri = `sip:+44700@127.0.0.1:${ground.gateway.port}`
    const caller = await kept(t, makeTelephone())
    const { dialled } = await dial(ground.carrier, { uri, from: '<sip:+33612345678@carrier.test>' }, caller)
    await until(async () => dialled.refused.length === 1)
    await ann.run('device.register()')
    const both = '(() => { const over = attempt(device.unregister()); device.destroy(); return over })()'
    assert.equal(await ann.run(both), 'done')
    assert.equal(await ann.run('attempt(device.register())'), 'VoiceError NOT_REGISTERED')
    assert.equal((await ann.seen('unregistered')).length, 3)
  })
})
