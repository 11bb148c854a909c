import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startGateway } from '../../src/connectors/sip/gateway/gateway.ts'
import { answer, type Decide, hears, kept, openMedia, toCarrier } from '../../src/connectors/sip/gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openGround, tokenOf } from './ground.ts'
import { openChromium, type Tab } from './tab.ts'

const media = await openMedia()
after(() => media.close())

describe('the connection of the SDK', needs('chromium'), () => {
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

  test('a connection that breaks during a call comes back by itself: the sound goes on, and the far end can hang up', async (t) => {
    const ground = await open(t)
    const ann = await ground.tab('ANN', { logLevel: 'silent' })
    const { telephone, session } = await talk(t, ground, ann)
    ground.cut()
    await ann.saw('reconnecting')
    assert.equal(await ann.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError TRANSPORT_LOST')
    assert.equal(await ann.run('attempt(call.hold(true))'), 'VoiceError TRANSPORT_LOST')
    const token = JSON.stringify(tokenOf('ANN', 3_000, ground.url))
    assert.equal(await ann.run(`attempt(device.updateToken(${token}))`), 'done')
    await Promise.all([ann.hears(620), hears(telephone, 1_000)])
    ground.mend()
    await ann.saw('reconnected')
    await Promise.all([ann.hears(620), hears(telephone, 1_000)])
    await session.bye()
    await ann.saw('call disconnect')
    for (const what of ['reconnecting', 'reconnected', 'registered', 'call disconnect'])
      assert.equal((await ann.seen(what)).length, 1, what)
  })

  test('who hangs up while the connection is broken has hung up for the far end too, once it is back', async (t) => {
    const ground = await open(t)
    const ann = await ground.tab('ANN', { logLevel: 'silent' })
    const { ends } = await talk(t, ground, ann)
    ground.cut()
    await ann.saw('reconnecting')
    await ann.run('call.disconnect()')
    await ann.saw('call disconnect')
    ground.mend()
    await until(async () => ends.length === 1)
  })

  test('a connection at whose other end nobody is any more is noticed, and made anew', async (t) => {
    const ground = await open(t)
    const ann = await ground.tab('ANN', { logLevel: 'silent' }, 3_600, false)
    await ann.page.clock.install()
    await ann.page.reload()
    await ann.run(`start(${JSON.stringify({ token: tokenOf('ANN', 3_600, ground.url), logLevel: 'silent' })})`)
    const [before] = ground.sockets
    // It answers while it can.
    for (const times of [1, 2, 3]) {
      await ann.page.clock.fastForward(15_000)
      await until(async () => ann.pongs() === times)
    }
    assert.equal((await ann.seen('reconnecting')).length, 0)
    before?.pause()
    await ann.page.clock.fastForward(15_000)
    await ann.page.clock.fastForward(15_000)
    await ann.saw('reconnecting')
    await ann.saw('reconnected')
    assert.equal(ground.sockets.size, 2)
  })

  test('a call that the server does not know any more ends as lost', async (t) => {
    const ground = await open(t)
    const ann = await ground.tab('ANN', { logLevel: 'silent' })
    await talk(t, ground, ann)
    ground.cut()
    const plain = { bind: '127.0.0.1', port: 0, domain: 'us.test', realm: 'us.test', secret: 'other' }
    const fresh = await startGateway({ ...plain, desk: ground.desk.desk, media, fault: () => {} })
    t.after(() => fresh.close(0))
    ground.mend(fresh)
    await ann.saw('reconnected')
    assert.partialDeepStrictEqual(await ann.saw('call disconnect'), { reason: 'lost' })
    assert.partialDeepStrictEqual(await ann.saw('call error'), { code: 'TRANSPORT_LOST' })
  })

  test('the page of the README works when it is pasted', async (t) => {
    const ground = await open(t)
    const readme = readFileSync(join(import.meta.dirname, '../../packages/voice-sdk/README.md'), 'utf8')
    const [, page = ''] = /```html\n([\s\S]+?)```/.exec(readme) ?? []
    ground.shown.set('/pasted', page.replace('http://127.0.0.1:8080', ground.url))
    const telephone = await kept(t, makeTelephone())
    const { page: tab } = await ground.tab('ANN', {}, 60, false)
    await tab.goto(`${ground.url}/pasted`)
    await tab.fill('#token', tokenOf('ANN', 60, ground.url))
    await tab.fill('#number', '+33 6 12 34 56 78')
    await tab.click('#call')
    await answer(await ground.carrier.call(), telephone)
    await tab.getByText('You talk with +33612345678.').waitFor()
    await tab.click('#hangup')
    await tab.getByText('The call is over: hangup.').waitFor()
  })
})
