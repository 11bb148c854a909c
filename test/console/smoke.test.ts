import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform } from '../platform.ts'
import { accountPages, ownPages } from './every-page.ts'
import { joinPlatform, openPlatform, withWorker } from './fixture.ts'

// Every section of the console opens, and a text is answered, in an installation with its sandbox. The walks of each
// section are in the files beside this one.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')

/** The first page of each section. */
const sections = [...Map.groupBy(accountPages, ({ path }) => path.split('/')[1] ?? '').values()].flatMap((pages) =>
  pages.slice(0, 1).map(({ path }) => path),
)

/** Opens a page as a link in the console does. */
const show = async (page: Page, path: string) => {
  await page.evaluate(`(() => {
    document.querySelector('main h1')?.setAttribute('data-old', '')
    history.pushState(null, '', ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
  })()`)
  await page.locator('main h1:not([data-old])').first().waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

test('every section of the console opens without a fault', needs('chromium'), async () => {
  // The menu is narrow beside the inbox: no person acts here, so that counts as a jump.
  allow(/^404 GET/, /^layout shift/)
  const page = await signIn(ruth, '/console/no/page', withWorker)
  await page.locator('main h1').first().waitFor()
  const boot = await (await page.request.get(`${platform.url}/console/session`)).json()
  const base = `/console/${boot.accounts[0].uuid}`
  const titles = new Set<string>()
  for (const path of [...sections.map((path) => base + path), ...ownPages.slice(0, 1).map((one) => one.path)]) {
    await show(page, path)
    titles.add((await page.locator('main h1').first().textContent()) ?? '')
    assert.deepEqual(await page.getByRole('alert').filter({ hasText: /./ }).allTextContents(), [], path)
  }
  assert.ok(titles.size > 8, [...titles].join(', '))
})

test('an agent answers a text, and sees that it was delivered', needs('chromium'), async () => {
  const { number } = await buyNumber(platform)
  const page = await signIn(ruth, '/inbox/all', withWorker)
  await call('POST', '/sandbox/handsets/+447700900123/sms', { to: number, text: 'Is my number ported yet?' })
  await page
    .getByRole('link', { name: /Is my number ported/ })
    .first()
    .click()
  const thread = page.getByRole('log', { name: 'Messages' })
  await thread.getByText('Is my number ported yet?').waitFor()
  const box = page.getByRole('textbox', { name: /^Reply to/ })
  await box.fill('It will be on Monday.')
  await box.press('Enter')
  await thread.getByText('delivered').waitFor()
  const { sms } = (await call('GET', '/sandbox/handsets/+447700900123')).body
  assert.ok(sms.some(({ text }: { text: string }) => text === 'It will be on Monday.'))
})
