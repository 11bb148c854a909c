import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { isAccessible } from '../accessible.ts'
import { needs } from '../needs.ts'
import { member } from '../persons.ts'
import { accountPages, ownPages } from './every-page.ts'
import { fitsWidth, openConsole, widths } from './fixture.ts'
import { servePseudo } from './pseudo-server.ts'

// Every page in the pseudo-locale: each text is in brackets and 40 % longer, and an Arabic browser mirrors the page.

const { world, url, signIn, allow } = await openConsole()
const pseudo = await servePseudo(url)
after(pseudo.close)

const openPseudo = async (locale: string): Promise<Page> => {
  const tenant = await world.tenant()
  const owner = await member(world, tenant, 'owner')
  await member(world, tenant, 'agent')
  const contact = { first_name: 'Ada', contact_details: [{ type: 'PH', value: '+447700900123' }] }
  assert.equal((await world.call(tenant, 'POST', '/open/contacts', contact)).status, 201)
  const hook = { hook_url: 'http://127.0.0.1:9000/crm', event_names: ['contact.created'] }
  assert.equal((await world.call(tenant, 'POST', '/open/webhooks', hook)).status, 201)
  // The pages come from another port than that of the installation.
  allow(/^foreign: http:\/\/127/, /^layout shift/)
  return signIn(owner, '/console/no/page', { locale })
}

const baseOf = async (page: Page): Promise<string> => {
  const boot = await (await page.request.get(`${url}/console/session`)).json()
  return `/console/${boot.accounts[0].uuid}`
}

const visit = async (page: Page, base: string, path: string) => {
  await page.goto(pseudo.url + (path.startsWith('/console') ? path : base + path))
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** Texts outside the catalogue. Names, ids, code, times, units and texts of the interface are not in it. */
const strangeTexts = `(() => {
  const data = 'code, pre, kbd, bdi, time, data, [dir]:not(h1, html), script, style, .audit-change, .catalogue p'
  const known = /^(?:MO|USD|lightMyRequest|Mia \\w+|\\S+@\\S+|[a-z]+(?:\\.[a-z]+)+|[\\d.]+ (?:GB|bytes)|\\d+[sm]|[A-Z])$/
  const bare = (text) => text.replace(/⟦[^⟦⟧]*(?:⟦[^⟦⟧]*⟧[^⟦⟧]*)*⟧/gu, ' ').replace(/[^\\p{L}]+/gu, ' ').trim()
  const found = (document.body.textContent.match(/⟦/g) ?? []).length < 15 ? ['too few texts of the catalogue'] : []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { data: text, parentElement } = walker.currentNode
    if (bare(text) && !known.test(text) && !parentElement.closest(data) && parentElement.value !== text) found.push(parentElement.tagName.toLowerCase() + ': ' + text)
  }
  for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
    for (const element of document.body.querySelectorAll('[' + name + ']'))
      if (bare(element.getAttribute(name)) && !known.test(element.getAttribute(name)) && !element.closest(data)) found.push(name + ': ' + element.getAttribute(name))
  return found
})()`

/** Labels whose text has no room. */
const clipped = `[...document.body.querySelectorAll('button, a, label, legend, th, h1, h2, h3, summary, .badge, .status')]
  .filter((element) => element.checkVisibility() && !element.closest('.cut, .for-readers, .skip, .frame-bottom'))
  .filter((element) => getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.tagName.toLowerCase() + '.' + element.className + ': ' + element.textContent)`

describe('the console in the pseudo-locale', needs('chromium'), () => {
  test('no page has a text outside the catalogue, and no label is cut when texts are 40 % longer', async () => {
    const page = await openPseudo('en-GB')
    const base = await baseOf(page)
    const faults: string[] = []
    for (const { path } of [...accountPages, ...ownPages]) {
      await visit(page, base, path)
      const texts = await page.evaluate<string[]>(strangeTexts)
      const labels = await page.evaluate<string[]>(clipped)
      faults.push(...texts.map((text) => `${path} ${text}`), ...labels.map((label) => `${path} is cut: ${label}`))
      for (const width of [widths.phone, widths.desktop]) await fitsWidth(page, width)
    }
    assert.deepEqual([...new Set(faults)], [])
  })

  test('a language from right to left mirrors the page', async () => {
    const page = await openPseudo('ar')
    const base = await baseOf(page)
    for (const path of ['/people', '/developers/webhooks', '/money']) {
      await visit(page, base, path)
      const mirrored = await page.evaluate<boolean>(`document.documentElement.dir === 'rtl' &&
        document.querySelector('.frame-nav').getBoundingClientRect().right > innerWidth - 2 &&
        document.querySelector('main h1').getBoundingClientRect().right > innerWidth / 2`)
      assert.ok(mirrored, path)
      await isAccessible(page, `${path} in Arabic`)
      for (const width of [widths.phone, widths.desktop]) await fitsWidth(page, width)
    }
  })
})
