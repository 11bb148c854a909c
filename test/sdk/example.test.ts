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

// The example of the voice SDK, used like a person would: against a server with real users and tokens, and a gateway
// whose call control admits every call.

const path = '/sdk/example/telephone.html'

let url = ''
const world = await makeWorld({}, { sandbox: true }, { publicUrl: () => url })
const tenant = await world.tenant()
const names = { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', status: 'ACTIVE' }
const added = await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/users`, names)
const user: string = added.body.user.uuid

let decide: CallDecision = toCarrier
const media = await openMedia()
const callControl = makeCallControl((call) => decide(call))
const secret = world.parts.seal.derive('sip credentials')
const gateway = await startGateway({
  ...{ bind: '127.0.0.1', port: 0, domain: '127.0.0.1', realm: '127.0.0.1', secret: 's', media },
  callControl: {
    ...callControl.callControl,
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

describe('the example of the voice SDK', needs('chromium'), () => {
  let browser: Browser
  let page: Page
  let faults: string[] = []

  const open = async (fragment = ''): Promise<Page> => {
    const opened = await browser.newPage({ viewport: { width: 1100, height: 900 }, colorScheme: 'light' })
    opened.setDefaultTimeout(60_000)
    opened.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    opened.on('pageerror', ({ message }) => faults.push(message))
    await opened.goto(`${url}${path}${fragment}`)
    return opened
  }
  const mint = async (): Promise<string> =>
    (await world.call(tenant, 'POST', '/open/sdk/access-token', { user_uuid: user })).body.token
  const button = (name: string, of = page) => of.getByRole('button', { name, exact: true })
  const says = (text: string | RegExp, of = page) => of.getByRole('status').getByText(text, { exact: true }).waitFor()
  const call = async (number: string) => {
    await page.getByLabel('Number').fill(number)
    await button('Call').click()
  }

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

  test('a token signs a user in, and a wrong one is reported', async () => {
    await isAccessible(page, 'signed out')
    await page.getByLabel('Token').fill('no token')
    await button('Sign in').click()
    await page.getByRole('alert').filter({ hasText: 'token' }).waitFor()
    await page.getByLabel('Token').fill(await mint())
    await button('Sign in').click()
    await says('Ready')
    assert.equal(await page.getByRole('alert').count(), 0)
    await isAccessible(page, 'ready')
  })

  test('a user dials on the keypad, talks, mutes, presses keys and hangs up', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    const telephone = await closedAfter(t, makeTelephone())
    telephone.sendTone(620)
    for (const key of '033612345678') await button(key).click()
    assert.equal(await page.getByLabel('Number').inputValue(), '+33612345678')
    await button('Call').click()
    const incoming = await carrier.call()
    incoming.ring({ status: 180 })
    await says('Ringing …')
    await isAccessible(page, 'ringing')
    await answer(incoming, telephone)
    await says('In call')
    await receivesTone(telephone, 1_000)
    await isAccessible(page, 'in a call')
    await button('Mute').click()
    await until(async () => (await button('Mute').getAttribute('aria-pressed')) === 'true')
    await button('Mute').click()
    await until(async () => (await button('Mute').getAttribute('aria-pressed')) === 'false')
    await page.evaluate(`{
      const { insertDTMF } = RTCDTMFSender.prototype
      RTCDTMFSender.prototype.insertDTMF = function () {
        RTCDTMFSender.prototype.insertDTMF = insertDTMF
        throw new DOMException('not connected', 'InvalidStateError')
      }
    }`)
    await button('9').click()
    await page.getByRole('alert').filter({ hasText: 'Digits can be sent once the call is connected' }).waitFor()
    for (const key of '12') await button(key).click()
    await page.keyboard.press('#')
    await until(async () => telephone.digits === '12#')
    assert.equal(await page.locator('#keys-sent').innerText(), '12#')
    await button('Hang up').click()
    await says('You hung up the call with +33612345678.')
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
    await says('Incoming call')
    await page.getByText('+33187654321', { exact: true }).waitFor()
    await isAccessible(page, 'called')
    await button('Accept').click()
    await says('In call')
    await until(async () => first.dialled.session)
    await first.dialled.session?.bye()
    await says('+33187654321 hung up.')
    const second = await ring()
    await button('Decline').click()
    await until(async () => second.dialled.refused.length === 1)
    await says('You declined the call from +33187654321.')
    const third = await ring()
    await says('Incoming call')
    third.call.cancel()
    await says('+33187654321 hung up before you answered.')
  })

  test('a failed call states its reason in a sentence', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toCarrier
    const number = '+33612345678'
    for (const [status, sentence] of [
      [486, `${number} is busy.`],
      [603, `${number} declined the call.`],
      [480, `${number} did not answer.`],
      [404, `The call with ${number} failed: Not Found (404).`],
    ] as const) {
      await call(number)
      ;(await carrier.call()).refuse({ status })
      await says(sentence)
    }
    await call(number)
    await carrier.call()
    await button('Hang up').click()
    await says(`You cancelled the call to ${number}.`)
    decide = () => ({ refused: { status: 403, reason: 'This destination is not allowed' } })
    await call(number)
    await says(`The call with ${number} failed: This destination is not allowed (403).`)
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  test('a call that the server ends shows the server’s reason', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toCarrier
    const telephone = await closedAfter(t, makeTelephone())
    await call('+33612345678')
    await answer(await carrier.call(), telephone)
    await says('In call')
    await gateway.hangUp(callControl.named(), 'An operator ended it')
    await says('The server ended the call with +33612345678: An operator ended it.')
  })

  for (const scheme of ['light', 'dark'] as const)
    test(`is ${scheme} if the browser prefers that, and fits a telephone`, async () => {
      await page.emulateMedia({ colorScheme: scheme })
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = (ground.match(/\d+/g) ?? []).map(Number)
      assert.ok(scheme === 'dark' ? red < 60 : red > 200, ground)
      for (const width of [360, 1100]) {
        await page.setViewportSize({ width, height: 740 })
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width)
        const { y = 0, height = 0 } = (await button('Call').boundingBox()) ?? {}
        assert.ok(y > 0 && y + height < 740, `the call button ends at ${y + height} of 740`)
      }
    })

  test('a link carries a token that no server sees, and another page of the user then takes over the calls', async () => {
    const other = await open(`#token=${await mint()}`)
    await says('Ready', other)
    assert.equal(other.url(), `${url}${path}`)
    await says('Signed in elsewhere')
    await isAccessible(page, 'signed in elsewhere')
    assert.equal(await button('Call').count(), 0)
    await button('Take calls here').click()
    await says('Ready')
    await says('Signed in elsewhere', other)
    assert.equal(await page.getByRole('alert').count(), 0)
    await button('Call').waitFor()
    await other.close()
  })

  test('its policy allows nothing from other origins, and only the sandbox serves it', async () => {
    const { headers } = await world.app.inject({ url: path })
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"])
      assert.ok(policy.includes(part), part)
    assert.equal(policy.includes('unsafe'), false)
    const plain = await makeWorld({}, { sandbox: false }, { db: world.db })
    assert.equal((await plain.app.inject({ url: path })).statusCode, 404)
  })
})
