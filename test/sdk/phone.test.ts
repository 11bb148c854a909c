import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startGateway } from '../../src/adapters/sip-gateway/gateway.ts'
import {
  answer,
  type CallDecision,
  closedAfter,
  dial,
  makeCallControl,
  openCarrier,
  openMedia,
  receivesTone,
  sdp,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../../src/adapters/sip-gateway/testing.ts'
import { isAccessible } from '../accessible.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { makeWorld } from '../world.ts'
import { openChromium } from './tab.ts'

// The softphone of /console/phone, used like a person would: against a server with real users and tokens, and a gateway
// whose call control admits every call.

let url = ''
const world = await makeWorld({}, { sandbox: true }, { publicUrl: () => url })
const tenant = await world.tenant()
const names = { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', status: 'ACTIVE' }
const added = await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/users`, names)
const user: string = added.body.user.uuid

let decide: CallDecision = toCarrier
const media = await openMedia()
const desk = makeCallControl((call) => decide(call))
const secret = world.parts.seal.derive('sip credentials')
const gateway = await startGateway({
  ...{ bind: '127.0.0.1', port: 0, domain: '127.0.0.1', realm: '127.0.0.1', secret: 's', media },
  desk: {
    ...desk.desk,
    password: (username) => createHmac('sha1', secret).update(username).digest('base64'),
    admit: async ({ username, identity, generation }) => ({
      value: {
        account: 'one',
        user: identity,
        generation: generation ?? 1,
        until: Number.parseInt(username, 10) * 1_000,
      },
    }),
  },
  fault: (error) => console.error(error),
})
const server = createServer((request, response) => world.app.routing(request, response))
server.on('upgrade', (request, socket, head) => void gateway.acceptWebSocket(request, socket, head, '127.0.0.1'))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
after(async () => {
  await gateway.close(0)
  server.closeAllConnections()
  server.close()
  await media.close()
})

describe('the softphone', needs('chromium'), () => {
  let browser: Browser
  let page: Page
  let faults: string[] = []

  const open = async (path = '/console/phone'): Promise<Page> => {
    const opened = await browser.newPage({ viewport: { width: 1100, height: 900 }, colorScheme: 'light' })
    opened.setDefaultTimeout(60_000)
    opened.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    opened.on('pageerror', ({ message }) => faults.push(message))
    await opened.goto(url + path)
    return opened
  }
  const pressed = (name: string) => page.getByRole('button', { name, exact: true }).getAttribute('aria-pressed')
  const state = (wanted: string) => page.locator(`#line[data-state=${wanted}]`).waitFor()
  const call = async (number: string) => {
    await page.getByLabel('Number').fill(number)
    await page.getByRole('button', { name: 'Call', exact: true }).click()
  }
  /** Waits for the page's report of the ended call. */
  const ended = (title: RegExp, sentence: string) =>
    page
      .getByRole('status')
      .filter({ has: page.getByText(title) })
      .getByText(sentence, { exact: true })
      .waitFor()

  before(async () => {
    browser = await openChromium()
    page = await open()
  })
  after(() => browser?.close())
  afterEach(() => {
    const found = faults
    faults = []
    assert.deepEqual(found, [], 'an error or a breach of the policy')
  })

  test('a sandbox key signs a user in, and a wrong key is reported', async () => {
    await isAccessible(page, 'signed out')
    await page.getByLabel('API key').fill('a key that nobody has')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').filter({ hasText: 'API key' }).waitFor()
    faults = faults.filter((fault) => !fault.includes('401'))
    await page.getByLabel('API key').fill(tenant.key)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Ada Lovelace · ready').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await until(async () => (await page.getByLabel('Microphone').locator('option').count()) >= 2)
    await page.locator('#sandbox').waitFor()
    await isAccessible(page, 'idle')
  })

  test('a user dials on the keypad, talks, mutes, presses keys, holds and hangs up', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    const telephone = await closedAfter(t, makeTelephone())
    telephone.sendTone(620)
    for (const key of '033612345678') await page.getByRole('button', { name: key, exact: true }).first().click()
    assert.equal(await page.getByLabel('Number').inputValue(), '+33612345678')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    const incoming = await carrier.call()
    incoming.ring({ status: 180 })
    await page.getByRole('status').getByText('Ringing …', { exact: true }).waitFor()
    const style = await page.evaluate<string>(`(() => {
      const { color, fontWeight, animationName } = getComputedStyle(document.querySelector('#what'))
      return [color === getComputedStyle(document.querySelector('.small')).color, fontWeight, animationName].join()
    })()`)
    assert.equal(style, 'false,600,none', 'ringing is as prominent as the number and does not fade')
    await isAccessible(page, 'ringing')
    await answer(incoming, telephone, {
      offered: async ({ body }) => ({ status: 200, body: sdp(await telephone.answer(body.toString())) }),
    })
    await state('talking')
    await receivesTone(telephone, 1_000)
    await isAccessible(page, 'in a call')
    await page.getByRole('button', { name: 'Mute' }).click()
    assert.equal(await pressed('Mute'), 'true')
    await page.keyboard.press('m')
    assert.equal(await pressed('Mute'), 'false')
    await page.getByRole('button', { name: 'Keypad' }).click()
    for (const key of '12#') await page.locator('#talk').getByRole('button', { name: key, exact: true }).click()
    await until(async () => telephone.digits === '12#')
    assert.equal(await page.locator('#dialled').innerText(), '12#')
    await page.getByRole('button', { name: 'Hold' }).click()
    await page.getByText('On hold').waitFor()
    assert.equal(await pressed('Hold'), 'true')
    await page.getByRole('button', { name: 'Hold' }).click()
    await until(async () => (await pressed('Hold')) === 'false')
    await page.locator('#quality[data-bars="4"]').waitFor()
    assert.equal(await page.locator('#codec').innerText(), 'PCMU')
    await page.getByLabel('Microphone').selectOption({ index: 1 })
    await receivesTone(telephone, 1_000)
    await page.getByRole('button', { name: 'Hang up' }).click()
    await state('idle')
    await ended(/^Call ended after \d+:\d\d$/, 'You hung up the call with +33612345678.')
    await isAccessible(page, 'after a call')
  })

  test('a caller is shown, and can be accepted or declined', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toBrowsers(user)
    const ring = async () => {
      const telephone = await closedAfter(t, makeTelephone())
      const ask = { uri: `sip:+44700@127.0.0.1:${gateway.port}`, from: '<sip:+33612345678@carrier.test>' }
      return { telephone, ...(await dial(carrier, ask, telephone)) }
    }
    const first = await ring()
    await state('incoming')
    await page.getByText('+33187654321').first().waitFor()
    assert.equal(await page.locator('#ended').isVisible(), false)
    await isAccessible(page, 'called')
    await page.getByRole('button', { name: 'Accept' }).click()
    await state('talking')
    await until(async () => first.dialled.session)
    await first.dialled.session?.bye()
    await state('idle')
    await ended(/^Call ended after \d+:\d\d$/, '+33187654321 hung up.')
    const second = await ring()
    await state('incoming')
    await page.getByRole('button', { name: 'Decline' }).click()
    await until(async () => second.dialled.refused.length === 1)
    await state('idle')
    await ended(/^Call declined$/, 'You declined the call from +33187654321.')
    const third = await ring()
    await state('incoming')
    third.call.cancel()
    await ended(/^Missed call$/, '+33187654321 hung up before you answered.')
    await page.getByRole('button', { name: 'Close' }).click()
    assert.equal(await page.locator('#ended').isVisible(), false)
  })

  test('a failed call states its reason in a sentence and can be retried', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toCarrier
    await call('+33612345678')
    for (const [status, title, sentence] of [
      [486, /^Busy$/, '+33612345678 is busy.'],
      [603, /^Call declined$/, '+33612345678 declined the call.'],
      [480, /^No answer$/, '+33612345678 did not answer.'],
      [404, /^Call failed$/, 'The call to +33612345678 failed: the number does not exist (404).'],
    ] as const) {
      ;(await carrier.call()).refuse({ status })
      await ended(title, sentence)
      await page.getByRole('button', { name: 'Call again' }).click()
    }
    await carrier.call()
    await page.getByRole('button', { name: 'Hang up' }).click()
    await ended(/^Call cancelled$/, 'You cancelled the call to +33612345678.')
    decide = () => ({ refused: { status: 403, reason: 'This destination is not allowed' } })
    await call('+33612345678')
    await ended(/^Call failed$/, 'The call to +33612345678 failed: This destination is not allowed (403).')
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  test('a call that the server ends shows the server’s reason', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toCarrier
    const telephone = await closedAfter(t, makeTelephone())
    await call('+33612345678')
    await answer(await carrier.call(), telephone)
    await state('talking')
    await gateway.hangUp(desk.named(), 'An operator ended it')
    await ended(/^Call ended after/, 'The server ended the call with +33612345678: An operator ended it.')
  })

  test('keys, call button and the box for recordings are visible on a telephone, also after a call', async () => {
    assert.equal(await page.locator('#ended').isVisible(), true)
    for (const [width, height] of [
      [390, 844],
      [360, 740],
    ] as const) {
      await page.setViewportSize({ width, height })
      const { y = 0, height: size = 0 } = (await page.getByLabel('Record calls').boundingBox()) ?? {}
      assert.ok(y > 0 && y + size < height, `the box ends at ${y + size} of ${height}`)
    }
    await page.setViewportSize({ width: 1100, height: 900 })
  })

  for (const scheme of ['light', 'dark'] as const)
    test(`is ${scheme} if the browser prefers that, and fits a telephone`, async () => {
      await page.emulateMedia({ colorScheme: scheme })
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = (ground.match(/\d+/g) ?? []).map(Number)
      assert.ok(scheme === 'dark' ? red < 60 : red > 200, ground)
      for (const width of [360, 1100]) {
        await page.setViewportSize({ width, height: 800 })
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width)
      }
    })

  test('a link carries a token that no server sees, and another page of the user then takes over the calls', async () => {
    const { body } = await world.call(tenant, 'POST', '/open/sdk/access-token', { user_uuid: user })
    const other = await open(`/console/phone#token=${body.token}`)
    await other.getByText('Ready').waitFor()
    assert.equal(other.url(), `${url}/console/phone`)
    await page.getByText('Signed in elsewhere').waitFor()
    await isAccessible(page, 'signed in elsewhere')
    assert.equal(await page.getByRole('button', { name: 'Call', exact: true }).isDisabled(), true)
    await page.getByRole('button', { name: 'Take calls here' }).click()
    await page.getByText('Ada Lovelace · ready').waitFor()
    await other.getByText('Signed in elsewhere').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Call', exact: true }).isDisabled(), false)
    await other.close()
  })

  test('its policy allows nothing from other origins, and without the sandbox it asks for no key', async () => {
    const { headers } = await world.app.inject({ url: '/console/phone' })
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"])
      assert.ok(policy.includes(part), part)
    assert.equal(policy.includes('unsafe'), false)
    const plain = await makeWorld({}, { sandbox: false }, { db: world.db })
    assert.match((await plain.app.inject({ url: '/console/phone' })).body, /data-sandbox="false"/)
  })
})
