import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { inChromium, launchChromium } from './chromium.ts'
import { fullForm } from './needs.ts'
import { makeWorld } from './world.ts'

// Code in the documentation: samples in four languages, copy buttons, and where code is placed.

const world = await makeWorld()
const url = await world.app.listen({ host: '127.0.0.1', port: 0 })

describe('code in a browser', inChromium, () => {
  let browser: Browser
  const open = async (path: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(url + path)
    return page
  }
  const copied = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')
  const shown = (page: Page) =>
    page
      .locator('details[open] .sample:visible')
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-language')))

  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  test('a sample is copied as it is, and a reader of the screen hears so', async () => {
    const page = await open('/docs#/SMS/sendSms')
    const entry = page.locator('details[open]')
    await entry.getByRole('button', { name: 'Copy the code' }).first().click()
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
    assert.equal(await copied(page), await entry.locator('.sample:visible code').textContent())
    assert.match(await copied(page), /^curl "\$TRUNKLINE_URL\/open\/sms\/send" \\\n {2}-H /)
    await page.goto(`${url}/docs/sms`)
    await page.getByRole('button', { name: 'Copy the code' }).first().click()
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
    assert.match(await copied(page), /^export KEY=/)
  })

  test(
    'code is copied where the page has no clipboard, as over plain HTTP',
    fullForm('a further way to copy'),
    async () => {
      const page = await open('/docs/sms')
      await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
      await page.evaluate("addEventListener('copy', () => { window.copiedText = String(getSelection()) })")
      await page.getByRole('button', { name: 'Copy the code' }).first().click()
      await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
      assert.match(await page.evaluate<string>('window.copiedText'), /^export KEY=/)
    },
  )

  test('the chosen language applies to every operation and the next visit', async () => {
    const page = await open('/docs#/SMS/sendSms')
    assert.deepEqual(await shown(page), ['curl'])
    await page.locator('details[open]').getByText('Python', { exact: true }).click()
    assert.deepEqual(await shown(page), ['Python'])
    await page.goto(`${url}/docs/sms`)
    await page.goto(`${url}/docs#/Contacts/listContacts`)
    assert.deepEqual(await shown(page), ['Python'])
  })

  test('a language is chosen without JavaScript, by the keyboard too', fullForm('a page without scripts'), async () => {
    const page = await open('/docs#/SMS/sendSms', { javaScriptEnabled: false })
    const entry = page.locator('details[open]')
    await entry.getByText('PHP', { exact: true }).click()
    assert.deepEqual(await shown(page), ['PHP'])
    await page.keyboard.press('ArrowLeft')
    assert.deepEqual(await shown(page), ['Python'])
    assert.equal(await entry.getByRole('radio', { name: 'Python' }).isChecked(), true)
  })

  test('code is next to the text on a wide screen, below it on others, and never widens the page', async () => {
    for (const [path, text, code] of [
      ['/docs#/SMS/sendSms', 'details[open] .about', 'details[open] .examples'],
      ['/docs/sms', 'article > p:has(+ .code)', 'article > p + .code'],
    ] as const) {
      const page = await open(path)
      for (const width of [1440, 768, 360]) {
        await page.setViewportSize({ width, height: 800 })
        const [left, right] = [
          await page.locator(text).first().boundingBox(),
          await page.locator(code).first().boundingBox(),
        ]
        assert.ok(left && right)
        const isBeside = right.x >= left.x + left.width && right.y < left.y + left.height
        assert.equal(isBeside, width === 1440, `${path} at ${width}: ${JSON.stringify([left, right])}`)
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        assert.ok(wide <= width, `${path} is ${wide} wide at ${width}`)
      }
      const overflow = await page.evaluate<string>("getComputedStyle(document.querySelector('.code pre')).overflowX")
      assert.equal(overflow, 'auto')
    }
  })

  test('the reference shows the answer with the request', async () => {
    const page = await open('/docs#/SMS/sendSms')
    const examples = page.locator('details[open] .examples')
    assert.match((await examples.textContent()) ?? '', /Request.*Answer 202.*message_uuid/s)
  })
})
