import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { inChromium, launchChromium } from './chromium.ts'
import { until } from './platform.ts'
import { makeWorld } from './world.ts'

// The pages as a person sees them, in a real browser against a listening server. Swagger UI draws the operations that come
// into view: drawing all of them takes half a minute of processor time.

const world = await makeWorld()
const url = await world.app.listen({ host: '127.0.0.1', port: 0 })

describe('pages', inChromium, () => {
  let browser: Browser
  let docs: Page
  /** Every fault of the pages: errors, policy breaches and foreign requests. */
  let faults: string[] = []

  const open = async (path: string): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' })
    page.setDefaultTimeout(60_000)
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('request', (request) => {
      const address = request.url()
      if (!address.startsWith(`${url}/`) && !address.startsWith('data:')) faults.push(`foreign: ${address}`)
    })
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`)
    })
    await page.goto(url + path)
    return page
  }

  /** Scrolls to a group of operations, and returns one of them. */
  const drawn = async (tag: string, operation: string) => {
    const block = docs.locator(`.opblock[id$="-${operation}"]`)
    await docs.locator(`.opblock-tag[data-tag="${tag}"]`).scrollIntoViewIfNeeded()
    await until(
      async () => {
        if ((await block.count()) > 0) return true
        await docs.evaluate('scrollBy(0, innerHeight / 2)')
        return false
      },
      60,
      200,
    )
    return block
  }

  before(async () => {
    browser = await launchChromium()
    docs = await open('/docs/try')
    await docs.locator('.opblock').first().waitFor()
  })
  after(() => browser?.close())
  afterEach(() => {
    const found = faults
    faults = []
    assert.deepEqual(found, [], 'an error, a breach of the policy, or a request that leaves the server')
  })

  test('/docs/try lists the operations, with those for customers first, each with an example', async () => {
    // As this server writes it.
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { tags: string[] }>>
    }
    const tags = Object.values(paths).flatMap((path) => Object.values(path).flatMap((operation) => operation.tags))
    const listed = await docs
      .locator('.opblock-tag')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-tag')))
    assert.deepEqual(listed.toSorted(), [...new Set(tags)].sort())
    assert.equal(listed[0], 'Account')
    assert.match((await docs.locator('.opblock').first().getAttribute('id')) ?? '', /-Account-\w+$/)
    assert.equal(await docs.locator('.topbar').count(), 0)
    const block = await drawn('SMS', 'sendSms')
    await block.locator('.opblock-summary-control').click()
    assert.equal(typeof JSON.parse(await block.locator('textarea').inputValue()), 'object')
  })

  test('an operation is tried from /docs/try, with and without a key', async () => {
    const answer = async (tag: string, operation: string) => {
      const block = await drawn(tag, operation)
      await block.locator('.opblock-summary-control').click()
      await block.locator('.execute').click()
      return await block.locator('.live-responses-table .response .response-col_status').innerText()
    }
    assert.match(await answer('Health', 'ping'), /^200/)
    const { key } = await world.tenant()
    await docs.locator('.btn.authorize').click()
    await docs.locator('.modal-ux input').first().fill(key)
    await docs.locator('.modal-ux button[type=submit]').first().click()
    await docs.locator('.close-modal').click()
    assert.match(await answer('Account', 'getInfo'), /^200/)
  })

  for (const scheme of ['light', 'dark'] as const)
    test(`pages are ${scheme} if the browser prefers that, and fit a telephone`, async () => {
      await docs.setViewportSize({ width: 390, height: 800 })
      await docs.emulateMedia({ colorScheme: scheme })
      const ground = await docs.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = (ground.match(/\d+/g) ?? []).map(Number)
      assert.ok(scheme === 'dark' ? red < 60 : red > 200, ground)
      const width = await docs.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= 390, `the page is ${width} wide`)
    })

  test('pages forbid foreign scripts and requests', async () => {
    for (const path of ['/docs', '/docs/try', '/docs/guides']) {
      const { headers } = await fetch(url + path)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'self'/)
      assert.match(policy, /script-src 'self';/)
      assert.match(policy, /frame-ancestors 'none'/)
    }
  })
})
