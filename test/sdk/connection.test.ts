import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startGateway } from '../../src/adapters/sip-gateway/gateway.ts'
import {
  answer,
  type CallDecision,
  closedAfter,
  openMedia,
  receivesTone,
  toCarrier,
} from '../../src/adapters/sip-gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openSdkFixture, tokenOf } from './sdk-fixture.ts'
import { openChromium, type Tab } from './tab.ts'

const media = await openMedia()
after(() => media.close())

describe('the connection of the SDK', needs('chromium'), () => {
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

  test('a connection that breaks during a call is restored by itself: the sound continues, and the far end can hang up', async (t) => {
    const deps = await open(t)
    const ann = await deps.tab('ANN', { logLevel: 'silent' })
    const { telephone, session } = await talk(t, deps, ann)
    deps.cut()
    await ann.waitForEvent('reconnecting')
    assert.equal(await ann.run(`attempt(device.connect({ to: '+33612345678' }))`), 'VoiceError TRANSPORT_LOST')
    assert.equal(await ann.run('attempt(call.hold(true))'), 'VoiceError TRANSPORT_LOST')
    const token = JSON.stringify(tokenOf('ANN', 3_000, deps.url))
    assert.equal(await ann.run(`attempt(device.updateToken(${token}))`), 'done')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    deps.mend()
    await ann.waitForEvent('reconnected')
    await Promise.all([ann.waitForTone(620), receivesTone(telephone, 1_000)])
    await session.bye()
    await ann.waitForEvent('call disconnect')
    for (const what of ['reconnecting', 'reconnected', 'registered', 'call disconnect'])
      assert.equal((await ann.events(what)).length, 1, what)
  })

  test('a user who hangs up while the connection is broken has hung up for the far end, too, once it is restored', async (t) => {
    const deps = await open(t)
    const ann = await deps.tab('ANN', { logLevel: 'silent' })
    const { ends } = await talk(t, deps, ann)
    deps.cut()
    await ann.waitForEvent('reconnecting')
    await ann.run('call.disconnect()')
    await ann.waitForEvent('call disconnect')
    deps.mend()
    await until(async () => ends.length === 1)
  })

  test('a connection whose peer no longer answers is detected and replaced', async (t) => {
    const deps = await open(t)
    const ann = await deps.tab('ANN', { logLevel: 'silent' }, 3_600, false)
    await ann.page.clock.install()
    await ann.page.reload()
    await ann.run(`start(${JSON.stringify({ token: tokenOf('ANN', 3_600, deps.url), logLevel: 'silent' })})`)
    const [before] = deps.sockets
    // The relay answers while it can.
    for (const times of [1, 2, 3]) {
      await ann.page.clock.fastForward(15_000)
      await until(async () => ann.pongs() === times)
    }
    assert.equal((await ann.events('reconnecting')).length, 0)
    before?.pause()
    await ann.page.clock.fastForward(15_000)
    await ann.page.clock.fastForward(15_000)
    await ann.waitForEvent('reconnecting')
    await ann.waitForEvent('reconnected')
    assert.equal(deps.sockets.size, 2)
  })

  test('a call that the server no longer knows ends as lost', async (t) => {
    const deps = await open(t)
    const ann = await deps.tab('ANN', { logLevel: 'silent' })
    await talk(t, deps, ann)
    deps.cut()
    const plain = { bind: '127.0.0.1', port: 0, domain: 'us.test', realm: 'us.test', secret: 'other' }
    const fresh = await startGateway({ ...plain, callControl: deps.callControl.callControl, media, fault: () => {} })
    t.after(() => fresh.close(0))
    deps.mend(fresh)
    await ann.waitForEvent('reconnected')
    assert.partialDeepStrictEqual(await ann.waitForEvent('call disconnect'), { reason: 'lost' })
    assert.partialDeepStrictEqual(await ann.waitForEvent('call error'), { code: 'TRANSPORT_LOST' })
  })

  test('the page of the README works when pasted', async (t) => {
    const deps = await open(t)
    const readme = readFileSync(join(import.meta.dirname, '../../packages/voice-sdk/README.md'), 'utf8')
    const [, page = ''] = /```html\n([\s\S]+?)```/.exec(readme) ?? []
    deps.shown.set('/pasted', page.replace('http://127.0.0.1:8080', deps.url))
    const telephone = await closedAfter(t, makeTelephone())
    const { page: tab } = await deps.tab('ANN', {}, 60, false)
    await tab.goto(`${deps.url}/pasted`)
    await tab.fill('#token', tokenOf('ANN', 60, deps.url))
    await tab.fill('#number', '+33 6 12 34 56 78')
    await tab.click('#call')
    await answer(await deps.carrier.call(), telephone)
    await tab.getByText('You talk with +33612345678.').waitFor()
    await tab.click('#hangup')
    await tab.getByText('The call is over: hangup.').waitFor()
  })
})
