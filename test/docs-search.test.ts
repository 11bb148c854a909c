import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import MiniSearch from 'minisearch'
import type { Browser, Page } from 'playwright-core'
import { isAccessible } from './accessible.ts'
import { inChromium, launchChromium } from './chromium.ts'
import { fullForm } from './needs.ts'
import { makeWorld } from './world.ts'

// The search of the documentation: the code of the pages over the entries that a server sends.

const world = await makeWorld()
const url = await world.app.listen({ host: '127.0.0.1', port: 0 })

type Result = { readonly url: string; readonly title: string; readonly group: string; readonly fragment: string }
/** Plain JavaScript, as browsers load it. */
const makeSearch: (engine: unknown, entries: unknown) => (query: string) => Result[] = (
  await import(join(import.meta.dirname, '../src/interfaces/site/pages/search-index.js'))
).makeSearch

const entries: string[][] = JSON.parse(await (await fetch(`${url}/docs/search.json`)).text())
const search = makeSearch(MiniSearch, entries)

/** Queries with the page that comes first. */
const queries = [
  ['schedule', '/docs/sms#schedule-and-cancel'],
  ['opt-out', '/docs/sms#opt-outs'],
  ['area code', '/docs/numbers#find-a-number-by-country-city-or-area-code'],
  ['idempotency', '/docs/idempotency'],
  ['test mode', '/docs/testing'],
  ['pagination', '/docs/lists'],
  ['rate limit', '/docs/rate-limits'],
  ['signature', '/docs/webhooks#verify-the-signature'],
  ['errors', '/docs/errors'],
  ['api keys', '/docs/keys'],
  ['retry schedule', '/docs/webhooks#answers-and-retries'],
  ['opted_out', '/docs/errors#opted_out'],
  ['POST /open/sms/send', '/docs#/SMS/sendSms'],
  ['shedule', '/docs/sms#schedule-and-cancel'],
] as const

for (const [query, page] of queries)
  test(`a search for "${query}" gives ${page} first`, () => {
    const found = search(query)
    assert.equal(found[0]?.url, page, JSON.stringify(found.slice(0, 4), null, 1))
    assert.ok(found.length <= 12 && found.every(({ title, group }) => title !== '' && group !== ''))
  })

test('every guide, operation, event and error code can be found, at an address that exists', async () => {
  const known = new Map<string, string>()
  const page = async (path: string) => {
    const text = known.get(path) ?? (await (await fetch(url + path)).text())
    known.set(path, text)
    return text
  }
  const missing: string[] = []
  for (const [address = ''] of entries) {
    const [path = '', id] = address.split('#')
    const text = await page(path)
    if (id === undefined ? !text.includes('<h1') : !text.includes(` id="${id}"`)) missing.push(address)
  }
  assert.deepEqual(missing, [])
  const addresses = new Set(entries.map(([address]) => address))
  assert.equal(addresses.size, entries.length, 'an address is there twice')
  for (const one of ['/docs/sms', '/docs#/SMS/sendSms', '/docs#/webhooks/sms.message.received', '/docs/errors#csrf'])
    assert.ok(addresses.has(one), one)
})

test('a fragment is the part of the text around the word, without markup', () => {
  const [first] = search('encodings segments')
  assert.match(first?.fragment ?? '', /segment/)
  for (const { fragment } of search('webhook'))
    assert.ok(fragment.length <= 170 && !/<\/?\w|&amp;|\|/.test(fragment), fragment)
})

test('the index takes at most 170 KB, and is not sent again unchanged', async () => {
  const get = (path: string, tag = '') =>
    world.app.inject({ url: path, headers: { 'accept-encoding': 'gzip', 'if-none-match': tag } })
  for (const path of ['/docs/search.json', '/docs/assets/minisearch.js']) {
    const sent = await get(path)
    assert.ok(sent.rawPayload.length <= 170_000, `${path}: ${sent.rawPayload.length}`)
    assert.ok(gunzipSync(sent.rawPayload).length > 10_000)
    assert.equal((await get(path, String(sent.headers.etag))).statusCode, 304)
  }
})

describe('the search field in a browser', inChromium, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  const open = async (path: string, width = 1280): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width, height: 800 } })
    const page = await context.newPage()
    // Swagger UI draws all operations for seconds.
    await page.route('**/swagger-ui-bundle.js', (route) => route.abort())
    page.setDefaultTimeout(60_000)
    await page.goto(url + path)
    await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
    return page
  }
  const chosen = (page: Page) => page.locator('[role=option][aria-selected=true] .title').textContent()

  test('"/" focuses it, arrows and Enter choose a result, and Escape closes', async () => {
    const page = await open('/docs/sms')
    const box = page.getByRole('combobox')
    await page.keyboard.press('/')
    assert.ok(await page.evaluate("document.activeElement.getAttribute('role') === 'combobox'"))
    await page.keyboard.type('rate limit')
    await page.getByRole('option').first().waitFor()
    assert.equal(await box.getAttribute('aria-expanded'), 'true')
    assert.equal(await chosen(page), 'Rate limits')
    const first = await box.getAttribute('aria-activedescendant')
    await page.keyboard.press('ArrowDown')
    assert.notEqual(await box.getAttribute('aria-activedescendant'), first)
    await page.keyboard.press('ArrowUp')
    assert.equal(await box.getAttribute('aria-activedescendant'), first)
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('option').count(), 0)
    await page.keyboard.press('/')
    await page.keyboard.type('pagination')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/docs/lists`)
    await page.context().close()
  })

  test('an operation that is found on the reference opens there', async () => {
    const page = await open('/docs')
    await page.getByRole('combobox').fill('Send an SMS from a number')
    await page.getByRole('option').first().click()
    await page.locator('details.entry[open]').waitFor()
    assert.match(page.url(), /\/docs#\/SMS\/sendSms$/)
    await page.context().close()
  })

  test('results have no fault for axe, in light and dark, and fit a telephone', fullForm('accessibility'), async () => {
    for (const path of ['/docs/idempotency', '/docs/try']) {
      const page = await open(path, 360)
      await page.getByRole('combobox').fill('webhook')
      await page.getByRole('option').first().waitFor()
      const box = await page.getByRole('listbox').boundingBox()
      assert.ok(box && box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box))
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(wide <= 360, `${path} is ${wide} wide`)
      await isAccessible(page, path, 'header')
      await page.context().close()
    }
  })
})
