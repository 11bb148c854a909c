import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { targetFaults } from '../accessible.ts'
import { furtherWalk } from '../needs.ts'
import { until } from '../platform.ts'
import { accountPages, ownPages } from './every-page.ts'
import { openConsole, widths } from './fixture.ts'
import { fullAccount } from './full-account.ts'

const { world, signIn, allow } = await openConsole()
let made: ReturnType<typeof fullAccount> | undefined
/** The account of both walks: it is filled once, and not in the fast form. */
const account = () => {
  made ??= fullAccount(world)
  return made
}

/** Shows another page, as a link in the console does. */
const show = async (page: Page, path: string) => {
  await page.evaluate(`(() => {
    document.querySelector('main h1')?.setAttribute('data-old', '')
    history.pushState(null, '', ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
  })()`)
  await page.locator('main h1:not([data-old])').first().waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

test('targets of every page are large enough for a finger at 360 px', furtherWalk(), async () => {
  const { tenant, owner } = await account()
  // Pages follow each other without an act of the person.
  allow(/^layout shift/, /^404 GET/)
  const page = await signIn(owner, '/no/page', { viewport: { width: widths.phone, height: 640 } })
  const faults: string[] = []
  for (const { path } of [...accountPages, ...ownPages]) {
    await show(page, path.startsWith('/console') ? path : `/console/${tenant.uuid}${path}`)
    faults.push(...(await targetFaults(page)).map((fault) => `${path}: ${fault}`))
  }
  assert.deepEqual(faults, [])
})

test('a narrow page begins at its top, and Back returns to the place', furtherWalk(), async () => {
  const { tenant, owner } = await account()
  const page = await signIn(owner, '/numbers', { viewport: { width: widths.phone, height: 640 } })
  const place = () =>
    page.locator('.frame-main').evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop)
  await page.locator('main tbody tr').nth(12).scrollIntoViewIfNeeded()
  const before = await place()
  assert.ok(before > 300, String(before))
  await until(async () => (await page.evaluate<number>('history.state?.y')) === before)
  // The bar at the foot: a link in the page would have to be scrolled to.
  await page.locator('.frame-bottom').getByRole('link', { name: 'Contacts' }).click()
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
  assert.equal(await place(), 0)
  await page.goBack()
  await until(async () => (await place()) === before)
  assert.match(page.url(), new RegExp(`${tenant.uuid}/numbers$`))
})
