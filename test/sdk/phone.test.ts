import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startGateway } from '../../src/connectors/sip/gateway/gateway.ts'
import {
  answer,
  type Decide,
  dial,
  hears,
  kept,
  makeDesk,
  openCarrier,
  openMedia,
  sdp,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../../src/connectors/sip/gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { makeWorld } from '../world.ts'
import { openChromium } from './tab.ts'

// The softphone of /console/phone, as a person uses it: against a server with real users and tokens, and a gateway whose
// desk lets every call through.

let url = ''
const world = await makeWorld({}, { sandbox: true }, { publicUrl: () => url })
const tenant = await world.tenant()
const names = { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', status: 'ACTIVE' }
const added = await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/users`, names)
const user: string = added.body.user.uuid

let decide: Decide = toCarrier
const media = await openMedia()
const desk = makeDesk((call) => decide(call))
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
server.on('upgrade', (request, socket, head) => void gateway.open(request, socket, head))
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
    opened.setDefaultTimeout(20_000)
    opened.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    opened.on('pageerror', ({ message }) => faults.push(message))
    await opened.goto(url + path)
    return opened
  }
  const pressed = (name: string) => page.getByRole('button', { name, exact: true }).getAttribute('aria-pressed')
  const state = (wanted: string) => page.locator(`#line[data-state=${wanted}]`).waitFor()

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

  test('a key of the sandbox signs a user in; a wrong one is told', async () => {
    await page.getByLabel('API key').fill('a key that nobody has')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').filter({ hasText: 'API key' }).waitFor()
    faults = faults.filter((fault) => !fault.includes('401'))
    await page.getByLabel('API key').fill(tenant.key)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Ada Lovelace · ready').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await until(async () => (await page.getByLabel('Microphone').locator('option').count()) >= 2)
  })

  test('a number is dialled on the keys: it rings, and one talks, mutes, presses keys, holds and hangs up', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    const telephone = await kept(t, makeTelephone())
    telephone.say(620)
    for (const key of '033612345678') await page.getByRole('button', { name: key, exact: true }).first().click()
    assert.equal(await page.getByLabel('Number').inputValue(), '+33612345678')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    const incoming = await carrier.call()
    incoming.ring({ status: 180 })
    await page.getByText('It rings').waitFor()
    await answer(incoming, telephone, {
      offered: async ({ body }) => ({ status: 200, body: sdp(await telephone.answer(body.toString())) }),
    })
    await state('talking')
    await hears(telephone, 1_000)
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
    await hears(telephone, 1_000)
    await page.getByRole('button', { name: 'Hang up' }).click()
    await state('idle')
  })

  test('who calls is shown, accepted or declined', async (t) => {
    const carrier = await openCarrier(t)
    await gateway.apply([trunkOf(carrier.port)])
    decide = toBrowsers(user)
    const ring = async () => {
      const telephone = await kept(t, makeTelephone())
      const ask = { uri: `sip:+44700@127.0.0.1:${gateway.port}`, from: '<sip:+33612345678@carrier.test>' }
      return { telephone, ...(await dial(carrier, ask, telephone)) }
    }
    const first = await ring()
    await state('incoming')
    await page.getByText('+33187654321').first().waitFor()
    await page.getByRole('button', { name: 'Accept' }).click()
    await state('talking')
    await until(async () => first.dialled.session)
    await first.dialled.session?.bye()
    await state('idle')
    const second = await ring()
    await state('incoming')
    await page.getByRole('button', { name: 'Decline' }).click()
    await until(async () => second.dialled.refused.length === 1)
    await state('idle')
  })

  for (const scheme of ['light', 'dark'] as const)
    test(`is ${scheme} where that is wanted, and fits a telephone`, async () => {
      await page.emulateMedia({ colorScheme: scheme })
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = (ground.match(/\d+/g) ?? []).map(Number)
      assert.ok(scheme === 'dark' ? red < 60 : red > 200, ground)
      for (const width of [360, 1100]) {
        await page.setViewportSize({ width, height: 800 })
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width)
      }
    })

  test('a link brings a token, which no server sees; another page of the user has the calls from then on', async () => {
    const { body } = await world.call(tenant, 'POST', '/open/sdk/access-token', { user_uuid: user })
    const other = await open(`/console/phone#token=${body.token}`)
    await other.getByText('Ready').waitFor()
    assert.equal(other.url(), `${url}/console/phone`)
    await page.getByText('Signed in elsewhere').waitFor()
    await other.close()
  })

  test('its policy allows nothing from elsewhere; without the sandbox it asks for no key', async () => {
    const { headers } = await world.app.inject({ url: '/console/phone' })
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"])
      assert.ok(policy.includes(part), part)
    assert.equal(policy.includes('unsafe'), false)
    const plain = await makeWorld({}, { sandbox: false }, { db: world.db })
    assert.match((await plain.app.inject({ url: '/console/phone' })).body, /data-sandbox="false"/)
  })
})
