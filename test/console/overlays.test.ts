import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { joinPlatform, openPlatform } from './fixture.ts'

// Messages of the frame: the page gives way to them, so that they cover no control.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const { number } = await buyNumber(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')

const handset = '+447700900431'
assert.equal((await call('POST', `/sandbox/handsets/${handset}/sms`, { to: number, text: 'Hello' })).status, 202)
const { uuid } = await until<{ uuid: string }>(
  async () => (await call('GET', '/open/conversations')).body.conversations[0],
)

/** Names of the controls that the middle of is covered by an element. */
const covered = `(selector) => {
  const cover = document.querySelector(selector)?.getBoundingClientRect()
  if (!cover || cover.height === 0) return null
  return [...document.querySelectorAll('a[href], button, textarea, input')]
    .filter((control) => !control.closest(selector) && control.checkVisibility({ visibilityProperty: true }))
    .filter((control) => {
      const { left, right, top, bottom, width } = control.getBoundingClientRect()
      return width > 1 && left < cover.right && right > cover.left && top < cover.bottom && bottom > cover.top
    })
    .map((control) => control.className + ' ' + (control.ariaLabel ?? control.textContent))
}`

const coversNothing = async (page: Page, selector: string): Promise<void> => {
  for (const [width, height] of [
    [1440, 900],
    [360, 740],
  ] as const) {
    await page.setViewportSize({ width, height })
    let found: string[] | null = null
    await until(async () => {
      found = await page.evaluate<string[] | null>(`(${covered})('${selector}')`)
      return found?.length === 0
    }, 5).catch(() => assert.fail(`${selector} at ${width} px covers ${JSON.stringify(found)}`))
  }
}

test('a toast covers no control of a conversation, at any width', needs('chromium'), async () => {
  const page = await signIn(ruth, `/inbox/all/${uuid}`)
  await page.getByRole('log', { name: 'Messages' }).getByText('Hello').waitFor()
  await page.getByRole('button', { name: 'Snooze', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Until they reply' }).click()
  await page.locator('.toast').waitFor()
  await page.locator('.toast').hover()
  await coversNothing(page, '.toasts')
})

test('a lost connection covers no control of a conversation, at any width', needs('chromium'), async () => {
  allow(/ERR_INTERNET_DISCONNECTED|WebSocket|fetching the script/)
  const page = await signIn(ruth, `/inbox/all/${uuid}`)
  await page.getByRole('log', { name: 'Messages' }).getByText('Hello').waitFor()
  await page.context().setOffline(true)
  await page.getByText(/^ ?No connection since/).waitFor()
  await coversNothing(page, '.frame-banner')
})
