import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { joinPlatform, openPlatform } from './fixture.ts'

// Keys that follow at once: what is typed after the key of a field is text, and no act.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn } = openPlatform(platform)
const { number } = await buyNumber(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')

const handset = '+447700900411'
assert.equal((await call('POST', `/sandbox/handsets/${handset}/sms`, { to: number, text: 'Type to me' })).status, 202)
const conversation = () =>
  until(async () => {
    const { conversations } = (await call('GET', '/open/conversations')).body
    return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === handset)
  })

const box = (page: Page) => page.getByRole('textbox', { name: /^Reply to|^Note for/ })
const opened = async (): Promise<Page> => {
  const page = await signIn(ruth, `/inbox/all/${(await conversation()).uuid}`)
  await page.getByRole('log', { name: 'Messages' }).getByText('Type to me').waitFor()
  await box(page).waitFor()
  return page
}

/** A word of single keys: most of them are acts of the inbox. */
const letters = 'easxup tcvf jknr'

/** Asserts that no key was an act: the conversation is open here, and nothing about it has changed. */
const isUntouched = async (page: Page): Promise<void> => {
  const { status, assignee_uuid, priority } = await conversation()
  assert.deepEqual({ status, assignee_uuid, priority }, { status: 'open', assignee_uuid: undefined, priority: 0 })
  assert.match(page.url(), /\/inbox\/all\/CNV/)
  assert.equal(await page.locator('dialog[open], [popover=auto]:popover-open').count(), 0)
}

test('what is typed at once after r or n is in the box, at any speed', needs('chromium'), async () => {
  const page = await opened()
  // A page that draws late: the focus must not wait for a frame.
  await page.evaluate('window.requestAnimationFrame = (draw) => setTimeout(draw, 500)')
  const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
  const times = isLong ? 100 : 1
  for (const key of ['r', 'n'])
    for (const delay of isLong ? [0, 5, 10, 20, 50] : [0, 20])
      for (let n = 0; n < times; n += 1) {
        await page.locator('h1').focus()
        await page.keyboard.type(key + letters, { delay })
        assert.equal(await box(page).inputValue(), letters, `${key} with ${delay} ms a key`)
        await page.keyboard.press('Control+a')
        await page.keyboard.press('Delete')
        await page.keyboard.press('Escape')
      }
  await isUntouched(page)
})

/** Holds back the scripts of a page that match, until the returned function is called. */
const holdBack = async (page: Page, part: RegExp): Promise<() => void> => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(part, async (route) => {
    await released
    await route.continue()
  })
  return release
}

test('what is typed while a box or dialog is still loading waits for it', needs('chromium'), async () => {
  const page = await signIn(ruth, '/inbox/all')
  const row = page.getByRole('link', { name: /Type to me/ })
  await row.waitFor()
  const release = await holdBack(page, /\/open\/conversations\/CNV[^/]*$/)
  await page.keyboard.press('j')
  await page.keyboard.type(`r${letters}`)
  release()
  await until(async () => (await box(page).count()) > 0 && (await box(page).inputValue()) === letters)
  await isUntouched(page)
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('tea')
  assert.equal(await page.getByRole('dialog').getByRole('combobox').inputValue(), 'tea')
  await page.keyboard.press('Escape')
  await isUntouched(page)
})

test('the telephone takes what is typed after its key', needs('chromium'), async () => {
  const page = await opened()
  await page.locator('h1').focus()
  await page.keyboard.type('c55')
  const field = page.getByRole('dialog').getByRole('textbox', { name: 'Number' })
  await until(async () => (await field.count()) > 0 && /55$/.test(await field.inputValue()))
  await until(() => page.evaluate<boolean>("document.activeElement?.name === 'number'"))
  await page.keyboard.press('Escape')
  await isUntouched(page)
})

test('Escape closes an open pop-up of the inbox, and nothing else', needs('chromium'), async () => {
  const page = await opened()
  const popups = [
    page.getByRole('button', { name: /your menu/ }),
    page.getByRole('button', { name: /Choose a view|views/i }).first(),
    page.getByRole('button', { name: 'Tag' }).first(),
    page.getByRole('button', { name: 'Snooze', exact: true }),
  ]
  for (const button of popups) {
    await button.click()
    await page.locator('[popover=auto]:popover-open').waitFor()
    await page.keyboard.press('e')
    await page.keyboard.press('Escape')
    await page.locator('[popover=auto]:popover-open').waitFor({ state: 'detached' })
    await isUntouched(page)
  }
})

test('Enter of an input method sends nothing', needs('chromium'), async () => {
  const page = await opened()
  const enter = `(element, init) => {
    const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...init })
    if (init.keyCode) Object.defineProperty(event, 'keyCode', { value: init.keyCode })
    element.dispatchEvent(event)
    return event.defaultPrevented
  }`
  await box(page).fill('こんにちは')
  for (const init of ['{ isComposing: true }', '{ keyCode: 229 }'])
    assert.equal(await page.evaluate(`(${enter})(document.querySelector('.box-text'), ${init})`), false, init)
  assert.equal(await box(page).inputValue(), 'こんにちは')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('inbox')
  assert.equal(await page.evaluate(`(${enter})(document.querySelector('.palette input'), { keyCode: 229 })`), false)
  assert.equal(await page.getByRole('dialog').getByRole('combobox').inputValue(), 'inbox')
})

test('letters that follow while a search is taken over into the address are not lost', needs('chromium'), async () => {
  const page = await signIn(ruth, '/contacts')
  const find = page.getByRole('searchbox', { name: 'Name, number or email' })
  await find.waitFor()
  // The next letters come right after the address has changed, before the page is drawn again.
  await page.evaluate(`
    for (const name of ['pushState', 'replaceState']) {
      const change = history[name].bind(history)
      history[name] = (...to) => {
        change(...to)
        const box = document.querySelector('[data-search]')
        if (!location.search.includes('garcia') || box.value !== 'garcia') return
        box.value = 'garcia m'
        box.dispatchEvent(new InputEvent('input', { bubbles: true }))
      }
    }`)
  await find.fill('garcia')
  await page.waitForURL(/garcia(?:\+|%20)m/)
  assert.equal(await find.inputValue(), 'garcia m')
})
