import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, describe, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { isAccessible } from '../accessible.ts'
import { furtherWalk, isFullForm, longForm, needs } from '../needs.ts'
import { member } from '../persons.ts'
import { until } from '../platform.ts'
import { accountPages, ownPages, thingPages } from './every-page.ts'
import { fitsWidth, openConsole, widths } from './fixture.ts'
import { fullAccount } from './full-account.ts'
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

/** Shows another page without loading the console again. */
const show = async (page: Page, path: string) => {
  await page.evaluate(`(() => {
    document.querySelector('main h1')?.setAttribute('data-old', '')
    history.pushState(null, '', ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
  })()`)
  await page.locator('main h1:not([data-old])').waitFor()
}

const marks = { waiting: '[aria-busy="true"]', refused: '[role="alert"]' }

/** Marks the parts of the page whose structure no page has had before. */
const newParts = `(() => {
  const seen = (window.seenParts ??= new Set())
  const shape = (element) => element.tagName + '.' + element.className + ' ' + (element.getAttribute('role') ?? '') +
    '(' + [...new Set([...element.children].map(shape))].join() + ')'
  for (const element of document.querySelectorAll('[data-new]')) element.removeAttribute('data-new')
  for (const element of document.querySelector('main .page, main > *').children) {
    const own = shape(element)
    if (!seen.has(own) && element.checkVisibility()) element.setAttribute('data-new', '')
    seen.add(own)
  }
  return document.querySelector('[data-new]') !== null
})()`

describe('the console in the pseudo-locale', needs('chromium'), () => {
  test('no page has a text outside the catalogue, and no label is cut when texts are 40 % longer', async () => {
    const page = await openPseudo('en-GB')
    const base = await baseOf(page)
    const faults: string[] = []
    const pages = [...accountPages, ...ownPages].filter((_, n) => isFullForm || n % 3 === 0)
    await visit(page, base, '/numbers')
    for (const { path } of pages) {
      await show(page, path.startsWith('/console') ? path : base + path)
      await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
      const texts = await page.evaluate<string[]>(strangeTexts)
      const labels = await page.evaluate<string[]>(clipped)
      faults.push(...texts.map((text) => `${path} ${text}`), ...labels.map((label) => `${path} is cut: ${label}`))
      for (const width of [widths.phone, widths.desktop]) await fitsWidth(page, width)
    }
    assert.deepEqual([...new Set(faults)], [])
  })

  test('a language from right to left mirrors the page', furtherWalk(), async () => {
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

  test(
    'every page has an accessible state while it waits, and after a refusal, from right to left',
    longForm(),
    async () => {
      const page = await openPseudo('ar')
      const base = await baseOf(page)
      allow(/^foreign: http:\/\/127/, /^layout shift/, /409/)
      const paths = [...accountPages, ...ownPages].map(({ path }) => path).concat(thingPages)
      let answer: (route: Route) => Promise<unknown> = async () => {}
      await page.route(/\/(?:open|console)\/(?!assets|session$)/, (route) =>
        route.request().resourceType() === 'fetch' ? answer(route) : route.continue(),
      )
      const shown = { waiting: 0, refused: 0 }
      for (const state of ['waiting', 'refused'] as const) {
        if (state === 'refused')
          answer = (route) =>
            route.fulfill({ status: 409, json: { error_code: 'refused', message: 'No.', request_id: 'req_1' } })
        await page.goto(`${pseudo.url}${base}/no/page`)
        for (const path of paths) {
          await show(page, path.startsWith('/console') ? path : base + path)
          if (state === 'refused') await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
          shown[state] += await page.locator('main').locator(marks[state]).first().count()
          // Parts that an earlier page has had too are checked there.
          if (await page.evaluate<boolean>(newParts)) await isAccessible(page, `${path}, ${state}`, '[data-new]')
        }
      }
      // The others need no answer before they are usable.
      assert.ok(shown.waiting >= paths.length - 7 && shown.refused >= paths.length - 7, JSON.stringify(shown))
    },
  )
})

/** Buttons that open a dialog or menu, and items of the menu that open a dialog. */
const openers: readonly (readonly [path: string, button: RegExp, item?: string])[] = [
  ['/inbox/all', /^New conversation/],
  ['/numbers/caller-ids', /^Add your number/],
  ['/numbers/caller-ids', /^Actions for/],
  ['/numbers/caller-ids', /^Actions for/, 'Remove'],
  ['/contacts', /^Add a contact/],
  ['/contacts/opt-outs', /^Add an opt-out/],
  ['/contacts/opt-outs', /^Import/],
  ['/calls', /^Actions for/],
  ['/logs/sendings', /^Send to many/],
  ['/money', /^Change$/],
  ['/developers/keys', /^Create key/],
  ['/developers/keys', /^Actions for/],
  ['/developers/keys', /^Actions for/, 'Revoke'],
  ['/developers/webhooks', /^Add endpoint/],
  ['/channels', /^Add a channel/],
  ['/people', /^Invite a person/],
  ['/people', /^Actions for A B/],
  ['/people', /^Actions for A B/, 'Change role'],
  ['/people', /^Actions for A B/, 'Withdraw the invitation'],
  ['/settings/tags', /^Create tag/],
  ['/settings/replies', /^Create canned reply/],
  ['/console/you/sessions', /^Actions for/],
  ['/console/you/security', /^Set up an authenticator app/],
]

/** Lists with a filter and its choice, and their rows before and after it. */
const lists = [
  // First: exports are recorded too.
  ['/settings/audit', 'Action', 'Invited a person', 27, 1],
  ['/numbers', 'Status', 'Suspended', 24, 12],
  ['/contacts', 'Blocked', 'Only blocked', 24, 12],
  ['/logs', 'Direction', 'Received', 24, 12],
  ['/calls', 'Direction', 'Incoming', 24, 12],
  ['/money', 'Kind', 'Credit', 25, 1],
  ['/developers/events', 'Event', 'contact.created', 26, 24],
  ['/developers/requests', 'Method', 'POST', 24, 12],
] as const

/** Lists without filters, and their rows. */
const plainLists = [
  ['/money/holds', 24],
  ['/numbers/caller-ids', 24],
  ['/developers/keys', 1],
  ['/people', 25],
] as const

/** Which things the rows are: other cells may come with a second answer, or with time. */
const rowNames = `[...document.querySelector('main tbody').rows].map((row) =>
  [...row.querySelectorAll('a, th')].map((each) => each.getAttribute('href') ?? each.textContent).join(' ') || row.textContent)`

const savedRows = async (page: Page): Promise<number> => {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ])
  return (await readFile(await file.path(), 'utf8')).trim().split(/\r?\n/).length - 1
}

describe('every list and dialog', needs('chromium'), () => {
  const account = fullAccount(world)

  test(
    'the address of each list gives the same rows after a reload, Back undoes a filter, and its file has these rows',
    furtherWalk(),
    async () => {
      const { tenant, owner } = await account
      // A page that is read anew moves by the height of a banner that comes with its data.
      allow(/^layout shift/)
      const page = await signIn(owner, '/no/page')
      const rows = page.locator('main tbody').first().locator('tr')
      const has = (count: number, what: string) =>
        until(async () => (await rows.count()) === count, 20).catch(async () =>
          assert.fail(`${what}: ${await rows.count()} rows, not ${count}`),
        )
      for (const [path, label, option, all, some] of lists) {
        await show(page, `/console/${tenant.uuid}${path}`)
        await has(all, path)
        const before = await page.evaluate<string[]>(rowNames)
        await page.getByRole('combobox', { name: label }).first().selectOption({ label: option })
        await has(some, `${path} with its filter`)
        const filtered = await page.evaluate<string[]>(rowNames)
        const address = page.url()
        await page.reload()
        await has(some, `${path} after a reload`)
        assert.deepEqual(await page.evaluate<string[]>(rowNames), filtered, `${path} after a reload`)
        assert.equal(page.url(), address)
        if ((await page.getByRole('button', { name: 'Export CSV' }).count()) > 0)
          assert.equal(await savedRows(page), some, path)
        await page.goBack()
        await rows.nth(some).waitFor()
        const names = await page.evaluate<string[]>(rowNames)
        assert.deepEqual(names.slice(-all), before, `${path} after Back`)
      }
      for (const [path, all] of plainLists) {
        await show(page, `/console/${tenant.uuid}${path}`)
        await has(all, path)
        if (path === '/money/holds') assert.equal(await savedRows(page), all)
      }
    },
  )

  test('every dialog and menu opens by keyboard, is accessible, and gives the focus back', furtherWalk(), async () => {
    const { tenant, owner } = await account
    const page = await signIn(owner, '/inbox/all')
    let shown = '/inbox/all'
    for (const [path, button, item] of openers) {
      if (path !== shown) await show(page, path.startsWith('/console') ? path : `/console/${tenant.uuid}${path}`)
      shown = path
      const opener = page.getByRole('button', { name: button }).first()
      await opener.focus()
      await page.keyboard.press('Enter')
      const opened = page.locator('dialog[open], [role="menu"]:popover-open').first()
      await opened.waitFor().catch(() => assert.fail(`${path}, ${button}: nothing opened`))
      if (item) {
        await page.getByRole('menuitem', { name: item }).focus()
        await page.keyboard.press('Enter')
        await page.locator('dialog[open]').waitFor()
      }
      await isAccessible(
        page,
        `${path}, ${button} ${item ?? ''}`,
        item ? 'dialog[open]' : 'dialog[open], [role="menu"]:popover-open',
      )
      await page.keyboard.press('Escape')
      await opened.waitFor({ state: 'hidden' })
      const isFocused = opener.and(page.locator(':focus')).waitFor()
      await isFocused.catch(() => assert.fail(`${path}, ${button} ${item ?? ''}: the focus is not back`))
    }
  })
})
