import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { isAccessible } from './accessible.ts'
import { inChromium, launchChromium } from './chromium.ts'
import { makeWorld } from './world.ts'

// The reference and the documents that an installation serves.

const world = await makeWorld()
const url = await world.app.listen({ host: '127.0.0.1', port: 0 })
const text = async (path: string) => (await fetch(url + path)).text()

/** Sends a path exactly as written. */
const rawStatus = async (path: string): Promise<number> => {
  const { port } = world.app.server.address() as AddressInfo
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  request({ host: '127.0.0.1', port, path }, (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
    .on('error', reject)
    .end()
  return promise
}

const index = await text('/llms.txt')
const listed = [...index.matchAll(/^- \[[^\n]+?\]\((\/docs\/[^)]+)\.md\)/gm)].map(([, path = '']) => path)

test('/docs has every operation of /openapi.json at the anchor that Swagger UI uses', async () => {
  const html = await text('/docs')
  const { paths } = JSON.parse(await text('/openapi.json'))
  const operations = Object.values<Record<string, { tags: string[]; operationId: string }>>(paths).flatMap((item) =>
    Object.values(item).filter((one) => one?.operationId),
  )
  assert.ok(operations.length >= 140, `saw only ${operations.length} operations`)
  for (const { tags, operationId } of operations)
    assert.ok(html.includes(`id="/${tags[0]?.replace(/ /g, '%20')}/${operationId}"`), operationId)
  assert.equal(await text('/docs/'), html)
  const [first = 0, account = 0, operator = 0] = [
    'id="start"',
    'id="/SMS/sendSms"',
    'id="/Operator:%20accounts/listAccounts"',
  ].map((one) => html.indexOf(one))
  assert.ok(first > 0 && account > first && operator > account, 'start, accounts, then operators')
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, ids.length, 'an anchor is there twice')
  const missing = [...html.matchAll(/ href="#([^"]+)"/g)].filter(([, id]) => !ids.includes(id))
  assert.deepEqual(missing, [])
})

test('/llms.txt lists every page, with a title, a summary and sections', async () => {
  assert.match(index, /^# Trunkline\n\n> .+\n/)
  assert.ok(listed.length >= 50, `saw only ${listed.length} pages`)
  assert.equal(new Set(listed).size, listed.length)
  for (const path of ['/docs/guides', '/docs/readme', '/docs/changelog', '/docs/operating', '/docs/decisions'])
    assert.ok(listed.includes(path), path)
  assert.ok(listed.includes('/docs/packages/voice-sdk'))
  assert.match(index, /\(\/openapi\.json\)/)
})

test('every link of every document resolves, as a page and as Markdown, with its anchor', async () => {
  const pages = new Map<string, string>()
  const find = async (path: string) => {
    const known = pages.get(path)
    if (known !== undefined) return known
    const response = await fetch(url + path)
    const body = response.ok ? await response.text() : ''
    pages.set(path, body)
    return body
  }
  const faults: string[] = []
  let links = 0
  for (const path of listed)
    for (const form of [path, `${path}.md`]) {
      const page = await find(form)
      if (page === '') faults.push(`${form} is missing`)
      const main = page.replace(/```[\s\S]*?```|`[^`\n]+`(?!\])/g, '')
      const targets = form.endsWith('.md')
        ? [...main.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
        : [...page.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, target = '']) => target)
      for (const target of targets.filter((each) => !/^(?:https?|mailto):/.test(each))) {
        links++
        const [to = '', anchor] = target.split('#')
        const found = await find(to || form)
        if (found === '') faults.push(`${form} links to ${target}`)
        else if (anchor && !(await find((to || form).replace(/\.md$/, ''))).includes(`id="${anchor}"`))
          faults.push(`${form} links to the missing anchor ${target}`)
      }
    }
  assert.ok(links >= 1000, `saw only ${links} links`)
  assert.deepEqual(faults, [])
})

test('a link that names a file shows the title of its page', async () => {
  const html = await text('/docs/sms')
  assert.match(html, /<a href="\/docs\/idempotency">Idempotency<\/a>/)
  assert.doesNotMatch(html, /\.md<\/a>/)
  assert.match(await text('/docs/sms.md'), /\[idempotency\.md\]\(\/docs\/idempotency\.md\)/)
})

test('the pictures of the README are shown, and other files of their folder are not', async () => {
  const html = await text('/docs/readme')
  const sources = [...html.matchAll(/(?:src|srcset)="(\/docs\/images\/[^"]+)"/g)].map(([, path = '']) => path)
  assert.equal(sources.length, 4)
  for (const path of sources) {
    const response = await fetch(url + path)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'image/png'], path)
  }
  for (const path of ['/docs/images/', '/docs/images/..%2fsecurity.md', '/docs/images/none.png'])
    assert.equal(await rawStatus(path), 404, path)
})

test('only listed documents are served: other files and traversal are refused', async () => {
  for (const path of [
    '/docs/../package.json',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/..%2f..%2f..%2fetc%2fpasswd',
    '/docs/operating/../../package.json',
    '/docs/operating%2f..%2f..%2fsrc%2fmain.ts',
    '/docs/....//package.json',
    '/docs/..%5cpackage.json',
    '/docs/voice.md%00',
    '/docs/voice.md.md',
    '/docs/package.json',
    '/docs/openapi.json',
    '/docs/constructor',
    '/docs/assets/../../package.json',
    '/docs/assets/package.json',
  ]) {
    const status = await rawStatus(path)
    assert.ok(status === 404 || status === 400 || status === 403, `${path}: ${status}`)
  }
})

test('pages are compressed as the client accepts and are not sent again unchanged', async () => {
  const get = (accepted: string, tag = '') =>
    world.app.inject({ url: '/docs', headers: { 'accept-encoding': accepted, 'if-none-match': tag } })
  const plain = await get('identity')
  assert.equal(plain.headers['content-encoding'], undefined)
  const [br, gzip] = [await get('gzip, deflate, br'), await get('gzip;q=0.5, br;q=0')]
  assert.deepEqual([br.headers['content-encoding'], gzip.headers['content-encoding']], ['br', 'gzip'])
  assert.equal(brotliDecompressSync(br.rawPayload).toString(), plain.body)
  assert.equal(gunzipSync(gzip.rawPayload).toString(), plain.body)
  assert.ok(br.rawPayload.length < plain.rawPayload.length / 5)
  assert.equal((await get('br', String(plain.headers.etag))).statusCode, 304)
})

describe('in a browser', inChromium, () => {
  let browser: Browser
  const open = async (path: string, javaScriptEnabled = true): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, javaScriptEnabled })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(url + path)
    return page
  }
  const openedIds = (page: Page) =>
    page.locator('details.entry[open] > .body').evaluateAll((all) => all.map(({ id }) => id))

  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  for (const [path, id] of [
    ['/docs#/SMS/sendSms', '/SMS/sendSms'],
    ['/docs/#/SMS/sendSms', '/SMS/sendSms'],
    ['/docs#/Operator%3A%20money/', ''],
    ['/docs#/Operator:%20accounts/listAccounts', '/Operator:%20accounts/listAccounts'],
    ['/docs#/Operator%3A%20accounts/listAccounts', '/Operator:%20accounts/listAccounts'],
  ] as const)
    test(`${path} opens ${id || 'nothing'}`, async () => {
      const page = await open(path)
      assert.deepEqual(await openedIds(page), id === '' ? [] : [id])
      if (id !== '') {
        const place = await page.locator('details.entry[open] > summary').boundingBox()
        assert.ok(place && place.y >= 0 && place.y < 450, `the summary is at ${place?.y}`)
      }
      await page.context().close()
    })

  test('a deep link opens its operation without JavaScript', async () => {
    const page = await open('/docs#/SMS/sendSms', false)
    await page.locator('details.entry[open]').waitFor()
    assert.equal(await page.locator('details.entry[open] h3').textContent(), 'POST /open/sms/send')
    assert.ok(await page.locator('#filter').isHidden())
    await page.context().close()
  })

  test('a search for text finds it in a closed operation and opens that', async () => {
    const page = await open('/docs#:~:text=Earliest%20send%20time', false)
    await page.locator('details.entry[open]').waitFor()
    assert.deepEqual(await openedIds(page), ['/SMS/sendSms'])
    await page.context().close()
  })

  test('an opened operation is in the address, and the filter shows what matches', async () => {
    const page = await open('/docs')
    await page.getByRole('heading', { name: '/open/info' }).first().click()
    assert.match(page.url(), /\/docs#\/Account\/getInfo$/)
    await page.getByLabel('Filter').fill('sms send post')
    const shown = await page.locator('details.entry:visible h3').allTextContents()
    assert.ok(shown.length > 0 && shown.every((heading) => heading.includes('POST')), shown.join())
    assert.ok(shown.includes('POST /open/sms/send'))
    await page.goto(`${url}/docs#/SMS/listSmsMessages`)
    await page.getByRole('heading', { name: 'GET /open/sms/messages' }).first().waitFor()
    await page.context().close()
  })

  test('pages have no fault for axe, in light and dark, and fit a telephone', async () => {
    for (const path of ['/docs#/SMS/sendSms', '/docs/guides', '/docs/readme']) {
      const page = await open(path)
      // All operations have one structure, and all schemas: axe takes half a minute for 180 of them.
      await page.evaluate(`for (const group of document.querySelectorAll('section.group'))
        if (/^\\/(SMS|schemas|webhooks)$/.test(group.getAttribute('aria-labelledby')))
          for (const entry of [...group.querySelectorAll('details.entry:not([open])')].slice(10)) entry.remove()
        else group.remove()`)
      await isAccessible(page, path)
      for (const width of [768, 360]) {
        await page.setViewportSize({ width, height: 800 })
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        assert.ok(wide <= width, `${path} is ${wide} wide at ${width}`)
      }
      await page.context().close()
    }
  })
})
