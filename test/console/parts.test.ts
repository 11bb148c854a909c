import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { isAccessible } from '../accessible.ts'
import { inChromium, launchChromium } from '../chromium.ts'
import { fullForm, furtherWalk } from '../needs.ts'
import { until } from '../platform.ts'
import { type Gallery, serveGallery } from './gallery-server.ts'

// Every part in every state, in a real browser and under the policy of the console.

describe('parts of the console', inChromium, () => {
  let browser: Browser
  let gallery: Gallery
  let page: Page
  /** Errors, warnings and breaches of the policy. */
  let faults: string[] = []

  before(async () => {
    gallery = await serveGallery()
    browser = await launchChromium()
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    page.setDefaultTimeout(10_000)
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    page.on('pageerror', ({ message }) => faults.push(message))
    await page.goto(gallery.url)
    await page.locator('.chart-picture canvas').nth(1).waitFor()
  })
  after(async () => {
    await browser?.close()
    gallery?.close()
  })
  afterEach(() => {
    const found = faults
    faults = []
    assert.deepEqual(found, [], 'an error, a warning or a breach of the policy')
  })

  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const text = (name: string) => page.getByRole('status', { name, exact: true })
  /** Waits until an expression of the page is true. `waitForFunction` would need `unsafe-eval`. */
  const isTrue = (expression: string) => until(() => page.evaluate<boolean>(expression))
  /** Waits until the element with the focus has this text or name. */
  const focusIs = (name: string) => {
    const label = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    return isTrue(`(${label}).includes(${JSON.stringify(name)})`)
  }
  const shows = (name: string, content: string) =>
    isTrue(`document.querySelector('output[aria-label="${name}"]').textContent === ${JSON.stringify(content)}`)

  test('the stylesheet and the chart are within their budgets, and uPlot is a chunk of its own', () => {
    const size = (name: string) => gzipSync(gallery.files.get(name) ?? '', { level: 9 }).length
    const names = [...gallery.files.keys()]
    const chart = names.find((name) => name.startsWith('chart-drawing')) ?? ''
    assert.ok(size('layers.css') > 2_000 && size('layers.css') <= 12_288, `stylesheet: ${size('layers.css')}`)
    assert.ok(size(chart) > 2_000 && size(chart) <= 25_600, `chart: ${size(chart)}`)
    assert.ok(size('gallery.js') <= 40_960, `gallery: ${size('gallery.js')}`)
  })

  test('no state has an axe violation, in light and in dark', fullForm('accessibility of each page'), async () => {
    await isAccessible(page, 'gallery')
    for (const opener of ['Open dialog', 'Open drawer', 'Release number']) {
      await page.getByRole('button', { name: opener }).click()
      await page.getByRole('dialog').waitFor()
      await isAccessible(page, opener, 'dialog[open]')
      await press('Escape')
    }
    await page.getByRole('button', { name: 'Acts of the number' }).click()
    await isAccessible(page, 'menu', '.menu:popover-open')
    await press('Escape')
    await page.getByRole('combobox', { name: 'City' }).fill('on')
    await page.getByRole('option', { name: 'London 214 numbers' }).waitFor()
    await isAccessible(page, 'combobox', '.combobox')
    await press('Escape')
  })

  test(
    'nothing scrolls sideways from 360 to 1440 px, in both directions, with longer texts and text of 200 %',
    furtherWalk(),
    async () => {
      for (const query of ['', '?dir=rtl', '?pseudo']) {
        await page.goto(`${gallery.url}/${query}`)
        for (const width of [1440, 768, 360]) {
          await page.setViewportSize({ width, height: 800 })
          assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${query} at ${width} px`)
        }
      }
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(gallery.url)
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 1280, 'text of 200 %')
      await page.evaluate(`document.documentElement.style.fontSize = ''`)
    },
  )

  test('a table becomes cards below 600 px and remains a table for screen readers', async () => {
    await page.setViewportSize({ width: 360, height: 800 })
    const table = page.getByRole('table', { name: 'Messages' })
    assert.equal(await table.getByRole('row').count(), 9)
    const [first, second] = await Promise.all(
      [0, 1].map((cell) => table.locator('tbody td[data-title]').nth(cell).boundingBox()),
    )
    assert.ok((first?.y ?? 0) + (first?.height ?? 0) <= (second?.y ?? 0) + 1, 'cells are under each other')
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('a button with a reason keeps the focus, shows the reason and does nothing', async () => {
    const button = page.getByRole('button', { name: 'Not possible' })
    await page.getByRole('button', { name: 'Saving' }).focus()
    await press('Tab')
    const tooltip = page.getByRole('tooltip', { name: 'The balance is too small' })
    await tooltip.waitFor()
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    await press('Enter')
    await shows('Clicks', '0')
    await press('Escape')
    await tooltip.waitFor({ state: 'hidden' })
  })

  test('a menu moves by arrows, Home, End and letters, and returns the focus to its button', async () => {
    const button = page.getByRole('button', { name: 'Acts of the number' })
    await button.focus()
    await press('ArrowDown')
    await focusIs('Call')
    await press('ArrowUp')
    await focusIs('Release')
    await press('Home', 'ArrowDown', 'ArrowDown')
    await focusIs('The number is in a call')
    await press('Enter')
    assert.equal(await button.getAttribute('aria-expanded'), 'true')
    await press('o')
    await focusIs('Open conversation')
    await press('End', 'Enter')
    await shows('Done', 'release')
    await focusIs('Acts of the number')
    await page.getByRole('button', { name: 'Acts of the number', expanded: false }).waitFor()
    await press('Enter')
    await focusIs('Call')
    await press('Escape')
    await focusIs('Acts of the number')
    const items = () => page.locator('.menu-holder', { has: button }).locator('[role^="menuitem"]').count()
    assert.equal(await items(), 0, 'a closed menu has no items')
    await press('Enter')
    assert.equal(await items(), 5)
    await press('Escape')
  })

  test('a combobox filters without accents, skips what cannot be chosen, and restores on Escape', async () => {
    const city = page.getByRole('combobox', { name: 'City' })
    await city.fill('zur')
    await press('Enter')
    assert.equal(await city.inputValue(), 'Zürich')
    await city.fill('berl')
    await press('Enter')
    await shows('Chosen', 'zrh ')
    await press('Escape')
    assert.equal(await city.inputValue(), 'Zürich')
    await press('ArrowDown', 'ArrowUp', 'Enter')
    assert.equal(await city.inputValue(), 'London')
    await city.fill('Lond')
    await press('Tab')
    assert.equal(await city.inputValue(), 'London')
    await page.getByRole('button', { name: 'Clear City' }).click()
    await shows('Chosen', ' ')
  })

  test('a combobox asks the server as people type, and says so when that fails', async () => {
    const person = page.getByRole('combobox', { name: 'Person' })
    await person.fill('gra')
    await page.getByRole('option', { name: 'Grace Hopper' }).waitFor()
    await press('Enter')
    await shows('Chosen', ' Grace Hopper')
    await person.fill('fail')
    await page.locator('.listbox-note', { hasText: 'could not be loaded' }).waitFor()
    await press('Escape')
  })

  test('a dialog takes the focus, keeps it, and returns it', async () => {
    await page.getByRole('button', { name: 'Open dialog' }).click()
    const dialog = page.getByRole('dialog', { name: 'Rename the number' })
    await dialog.waitFor()
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      await press('Tab')
      assert.ok(
        await page.evaluate(
          `document.activeElement === document.body || Boolean(document.activeElement.closest('dialog'))`,
        ),
      )
    }
    await press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await focusIs('Open dialog')
  })

  test('a dialog opens and closes before the next key is read', async () => {
    const states = await page.evaluate(`(async () => {
      const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Open dialog')
      const dialog = () => document.querySelector('dialog[open]')
      button.click()
      await null
      const opened = dialog()
      opened?.dispatchEvent(new Event('cancel', { cancelable: true }))
      await null
      return [opened !== null, dialog() === null]
    })()`)
    assert.deepEqual(states, [true, true])
  })

  test('an act that cannot be undone needs its number typed', async () => {
    await page.getByRole('button', { name: 'Release number' }).click()
    const dialog = page.getByRole('dialog')
    const act = dialog.getByRole('button', { name: 'Release the number' })
    await press('Enter')
    await act.click({ force: true })
    assert.equal(await dialog.isVisible(), true)
    await dialog.getByLabel('Type +44 20 7946 0018 to confirm').fill('+442079460018')
    await act.click()
    await dialog.waitFor({ state: 'hidden' })
    await shows('Done', 'released')
  })

  test('a form names each fault at its field, then sends, then shows a refusal at its field', async () => {
    const form = page.getByRole('form', { name: 'Message' })
    const to = form.getByLabel('To', { exact: true })
    await to.fill('07700')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText('Write a number with its country code').waitFor()
    await form.getByText('Fill in this field.').waitFor()
    await isTrue("document.activeElement.name === 'to_number'")
    assert.equal(await to.getAttribute('aria-invalid'), 'true')
    await to.fill('0044 (7700) 900-003')
    await form.getByLabel('Text', { exact: true }).fill('Hello')
    assert.equal(await to.inputValue(), '+447700900003')
    await form.getByRole('button', { name: 'Send' }).click()
    assert.match((await text('Sent').textContent()) ?? '', /"to_number":"\+447700900003"/)
    await form.getByRole('alert').getByText('req_8fQkT2x9').waitFor()
    const from = form.getByLabel('From', { exact: true })
    await isTrue(`document.querySelector('[name="from_number"]').getAttribute('aria-invalid') === 'true'`)
    await from.selectOption('+4915123456789')
    assert.equal(await from.getAttribute('aria-invalid'), null)
    await form.getByLabel('Valid for').fill('1')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByRole('alert').getByRole('button', { name: 'The time is too short.' }).click()
    await isTrue("document.activeElement.name === 'validity'")
  })

  test('a file of another type or of too many bytes is refused in words', async () => {
    const input = page.getByLabel('Proof of address')
    const file = (name: string, mimeType: string, size: number) => ({ name, mimeType, buffer: Buffer.alloc(size) })
    await input.setInputFiles(file('a.exe', 'application/octet-stream', 10))
    await page.getByText('a.exe has a type that is not accepted').waitFor()
    await input.setInputFiles(file('big.pdf', 'application/pdf', 5_000_001))
    await page.getByText('big.pdf is too big').waitFor()
    await input.setInputFiles(file('bill.pdf', 'application/pdf', 2_000))
    await page.getByText('bill.pdf', { exact: true }).waitFor()
  })

  test('a table sorts by its heads, and a whole row leads to its page', async () => {
    const table = page.getByRole('table', { name: 'Messages' })
    const head = table.getByRole('columnheader', { name: 'Cost' })
    await head.getByRole('button').click()
    assert.equal(await head.getAttribute('aria-sort'), 'ascending')
    await head.getByRole('button').click()
    assert.equal(await head.getAttribute('aria-sort'), 'descending')
    await table.getByRole('cell', { name: 'failed' }).first().click({ force: true })
    await isTrue(`location.hash === '#SMO01a1fccab82e4b0f9d31'`)
    await table.getByLabel('Select all rows').check()
    assert.equal(await table.getByRole('checkbox', { checked: true }).count(), 9)
  })

  test('code changes its language by arrows and is copied', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const code = page.getByRole('figure', { name: 'Send a message' })
    await code.getByRole('tab', { name: 'curl' }).focus()
    await press('ArrowRight')
    await code.getByRole('tab', { name: 'TypeScript', selected: true }).waitFor()
    await code.getByRole('button', { name: 'Copy Send a message' }).click()
    await code.getByText('Copied').waitFor()
    assert.match(await page.evaluate<string>('navigator.clipboard.readText()'), /@trunkline\/client/)
  })

  test('a list shows its last and first rows with the frame after End and Home, without gliding there', async () => {
    const list = page.getByRole('region', { name: 'Conversations' })
    await list.focus()
    // The text at the middle of the list, when the first frame after the key has been drawn.
    await page.evaluate(`window.afterKey = new Promise((done) => addEventListener('keydown', ({ key }) =>
      requestAnimationFrame(() => setTimeout(() => {
        const box = document.activeElement.getBoundingClientRect()
        const row = document.elementFromPoint(box.x + 40, box.y + box.height / 2)?.closest('li')
        done(key + ' ' + (row?.textContent ?? 'no row'))
      })), { once: true })); 0`)
    await list.press('End')
    assert.match(await page.evaluate<string>('afterKey'), /^End .*Conversation 19\d{3}|^End .*Conversation 20000/)
    await list.press('Home')
  })

  test('a list of 20,000 rows holds only those in view, with their positions', async () => {
    const list = page.getByRole('region', { name: 'Conversations' })
    await list.focus()
    await press('End')
    await list.getByText('Conversation 20000', { exact: true }).waitFor()
    const items = list.getByRole('listitem')
    assert.ok((await items.count()) < 40)
    assert.equal(await items.last().getAttribute('aria-posinset'), '20000')
  })

  test('filters write to the URL once typing pauses, and are cleared together', async () => {
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('late')
    await isTrue(`document.querySelector('[aria-label="Filters set"]').textContent.includes('"q":"late"')`)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await shows('Filters set', '{}')
    await until(async () => (await page.getByRole('searchbox', { name: 'Search messages' }).inputValue()) === '')
  })

  test('a toast is announced, waits while it has the focus, and can act', async () => {
    await page.getByRole('button', { name: 'Show toast' }).click()
    await page.getByRole('status').getByText('The number was bought.').waitFor()
    await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Open' }).click()
    await shows('Done', 'opened')
  })

  test('the text of a handset appears in its log', async () => {
    const handset = page.getByRole('region', { name: 'Handset +44 7700 900003' })
    await handset.getByLabel('Text of the handset').fill('STOP')
    await press('Enter')
    await handset.getByRole('log').getByText('STOP').waitFor()
  })

  test('a chart is shown as its table', async () => {
    const chart = page.getByRole('figure').filter({ has: page.getByRole('heading', { name: 'Messages a day' }) })
    await chart.getByRole('button', { name: 'Show as a table' }).click()
    assert.equal(await chart.getByRole('row').count(), 31)
    await chart.getByRole('button', { name: 'Show as a chart' }).click()
    await chart.locator('canvas').waitFor()
  })
})
