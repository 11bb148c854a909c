import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { usersOf } from '../../src/domains/calls/call-testing.ts'
import { needs } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { openChromium, openTab } from './tab.ts'

// The effects of a crashing server on a browser.

describe('a browser whose server is killed during a call', needs('chromium'), () => {
  const ports = { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  let platform: Platform
  let browser: Browser
  before(async () => {
    platform = await startPlatform(undefined, ports)
    browser = await openChromium()
  })
  after(async () => {
    await browser?.close()
    await platform?.end()
  })

  test('reconnects by itself when the server restarts, and its call ends as lost', async (t) => {
    const { home, url, call } = platform
    await buyNumber(platform)
    const [user] = await usersOf(platform)
    const { token } = (await call('POST', '/open/sdk/access-token', { user_uuid: user })).body
    const tab = await openTab(t, browser, `${url}/healthz`)
    await tab.page.addScriptTag({ url: `${url}/sdk/voice.js` })
    await tab.run(`start(${JSON.stringify({ token, logLevel: 'silent' })})`)
    await tab.run(`dial({ to: '+447700900321' })`)
    await tab.waitForTone(620)
    await platform.end('SIGKILL')
    await tab.waitForEvent('reconnecting')
    assert.equal(await tab.run('call.getStatus()'), 'accepted')
    platform = await startPlatform(home, { ...ports, TRUNKLINE_PORT: new URL(url).port })
    await until(async () => (await tab.events('reconnected')).length === 1, 60)
    assert.partialDeepStrictEqual(await tab.waitForEvent('call disconnect'), { reason: 'lost' })
    const [cdr] = (await platform.call('GET', '/open/voip/call-history')).body.cdrs
    assert.partialDeepStrictEqual(cdr, { active: false, end_reason: 'interrupted' })
    // The next call works as any other.
    await tab.run(`dial({ to: '+447700900321' })`)
    await tab.waitForTone(620)
  })
})
