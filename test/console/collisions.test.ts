import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { makeCollisions, type Reader } from './collisions.ts'
import { joinPlatform, openPlatform } from './fixture.ts'

// Answers of two colleagues that cross: the second one goes out only after its author has seen the first.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const { number } = await buyNumber(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')
const linus = await joinPlatform(platform, 'Linus Berg')
const { begin, answer, collide, assertSeen, discard, received } = makeCollisions(platform, linus)
const isLong = process.env.TRUNKLINE_TEST_LONG === '1'

const readerOf = (page: Page): Reader => ({ run: (code) => page.evaluate(code) })
const box = (page: Page) => page.getByRole('textbox', { name: /^Reply to/ })
const thread = (page: Page) => page.getByRole('log', { name: 'Messages' })
const notice = (page: Page) => page.getByRole('alert').filter({ hasText: 'Your text was not sent' })

/** Opens a thread that is longer than its window. */
const opened = async (handset: string, count = 25) => {
  const uuid = await begin(handset, number, count)
  const page = await signIn(ruth, `/inbox/all/${uuid}`)
  await thread(page).getByText(`Question ${count} of ${count}`).waitFor()
  return { page, handset, uuid }
}

test(
  'a reply stops while the answer of a colleague was not seen, and goes out once it was',
  needs('chromium'),
  async () => {
    allow(/409/)
    const { page, ...place } = await opened('+447700900401')
    const tries = isLong ? Array.from({ length: 20 }, (_, n) => n * 100 + 50) : [0, 300, 800]
    for (const [n, delay] of tries.entries()) {
      for (const scroll of isLong ? [n % 2 === 0 ? 0 : 600] : [0, 600]) {
        const outcome = await collide(readerOf(page), place, `Mine ${n} at ${scroll}`, { delay, scroll })
        assertSeen(outcome, scroll)
        if (outcome.hasNotice) await discard(readerOf(page))
      }
    }
    await box(page).fill('Now I know')
    await answer(place.uuid, 'Read me for a second')
    await thread(page).getByText('Read me for a second').waitFor()
    await box(page).press('Enter')
    // A person who presses too early reads the answer, and sends anyway.
    await until(async () => {
      if (await notice(page).isVisible()) await page.getByRole('button', { name: 'Send anyway' }).click()
      return (await received(place.handset)).includes('Now I know')
    })
  },
)

test('an answer out of sight is announced, and stops a reply however long it is there', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900402')
  await page.evaluate("document.querySelector('[role=log]').scrollTop = -600")
  await page.locator('.thread-newest').waitFor()
  await answer(uuid, 'Out of sight')
  await page.getByRole('button', { name: '1 new message' }).waitFor()
  await thread(page).getByText('Out of sight').waitFor({ state: 'attached' })
  // Longer than an answer that is visible must be there.
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1_300))')
  await box(page).fill('Not seen')
  await box(page).press('Enter')
  await notice(page).getByText('Out of sight').waitFor()
  assert.equal(await box(page).inputValue(), 'Not seen')
  await thread(page).getByText('Out of sight').waitFor()
  assert.ok(!(await received(handset)).includes('Not seen'))
})

test('ordinary answers go out without a stop', needs('chromium'), async () => {
  // A question that the page does not have yet is no answer: the reply goes out behind it.
  allow(/409/)
  const { page, handset } = await opened('+447700900403', 2)
  const count = isLong ? 200 : 8
  for (let n = 1; n <= count; n += 1) {
    if (n % 4 === 0)
      assert.equal(
        (await call('POST', `/sandbox/handsets/${handset}/sms`, { to: number, text: `And ${n}?` })).status,
        202,
      )
    await box(page).fill(`Answer ${n}.`)
    await box(page).press('Enter')
    assert.equal(await notice(page).count(), 0, `answer ${n}`)
    if (n % 3 === 0) await thread(page).getByText(`Answer ${n}.`, { exact: true }).waitFor()
  }
  await until(async () => (await received(handset)).length === count, 60)
  assert.equal(await notice(page).count(), 0)
})

test('a draft does not go out in the moment in which its conversation is opened again', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900404', 2)
  await begin('+447700900405', number, 1)
  await box(page).fill('From before')
  const list = page.getByRole('region', { name: 'Conversations', exact: true })
  await list.getByRole('link', { name: /Question 1 of 1/ }).click()
  await thread(page).getByText('Question 1 of 1').waitFor()
  await answer(uuid, 'While you were away')
  await page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const box = document.querySelector('.box-text')
      if (box?.value !== 'From before') return requestAnimationFrame(look)
      box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
      resolve()
    }
    document.querySelector('[data-row="${uuid}"]').click()
    look()
  })`)
  await notice(page).getByText('While you were away').waitFor()
  assert.equal(await box(page).inputValue(), 'From before')
  assert.deepEqual(await received(handset), ['While you were away'])
})

/** Waits longer than an answer must be visible. */
const lookAway = (page: Page) => page.evaluate('new Promise((resolve) => setTimeout(resolve, 1_300))')

test('time in another conversation is no time before an answer', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900406', 2)
  const other = await begin('+447700900407', number, 1)
  await page.locator(`[data-row="${other}"]`).waitFor()
  await box(page).fill('From before')
  const shown = page.evaluate<number>(`new Promise((resolve) => {
    const isThere = (text) => [...document.querySelectorAll('[role=log] li')].some((li) => li.textContent.includes(text))
    const until = (look, act) => (look() ? act() : requestAnimationFrame(() => until(look, act)))
    const wait = (milliseconds, act) => setTimeout(act, milliseconds)
    const open = (uuid) => document.querySelector('[data-row="' + uuid + '"]').click()
    let before = 0
    until(() => isThere('A moment ago'), () => {
      const came = performance.now()
      wait(150, () => {
        open('${other}')
        before = performance.now() - came
        until(() => isThere('Question 1 of 1'), () => wait(1300, () => {
          open('${uuid}')
          until(() => isThere('A moment ago'), () => {
            const returned = performance.now()
            wait(250, () => {
              const box = document.querySelector('.box-text')
              box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
              resolve(Math.max(before, performance.now() - returned))
            })
          })
        }))
      })
    })
  })`)
  await answer(uuid, 'A moment ago')
  // On a busy machine the moment may be long enough.
  if ((await shown) >= 1_000) return
  await notice(page).getByText('A moment ago').waitFor()
  assert.deepEqual(await received(handset), ['A moment ago'])
})

test('an answer under the details of the person, or a dialog, is not seen', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900408', 2)
  await page.setViewportSize({ width: 1_000, height: 900 })
  await page.locator('.thread-person-link').click()
  await page.locator('.person-back').waitFor()
  await answer(uuid, 'Under it')
  await thread(page).getByText('Under it').waitFor()
  await lookAway(page)
  await box(page).fill('Covered')
  await box(page).press('Enter')
  await notice(page).getByText('Under it').waitFor()
  await lookAway(page)
  const again = page.getByRole('button', { name: 'Send anyway' })
  assert.equal(await again.getAttribute('aria-disabled'), 'true')
  await page.locator('.person-back').click()
  await again.click()
  await until(async () => (await received(handset)).includes('Covered'))

  await page.locator('.box-text').blur()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await answer(uuid, 'Behind it')
  await thread(page).getByText('Behind it').waitFor({ state: 'attached' })
  await lookAway(page)
  await page.keyboard.press('Escape')
  await box(page).fill('Behind a dialog')
  await box(page).press('Enter')
  await notice(page).getByText('Behind it').waitFor()
})

test('the notice shows every answer before the text goes', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900409')
  // The thread, which moves to its end, has no room for the four.
  await page.setViewportSize({ width: 1_440, height: 480 })
  await page.evaluate("document.querySelector('[role=log]').scrollTop = -600")
  await page.locator('.thread-newest').waitFor()
  for (const text of ['Answer A', 'Answer B', 'Answer C', 'Answer D']) await answer(uuid, text)
  await page.getByRole('button', { name: '4 new messages' }).waitFor()
  await box(page).fill('After all four')
  await box(page).press('Enter')
  await notice(page).getByText('Answer D').waitFor()
  await notice(page).getByText('Answer A').waitFor()
  await page.getByRole('button', { name: 'Send anyway' }).click()
  await until(async () => (await received(handset)).includes('After all four'))
})

test('a tall answer in a low window can be seen', needs('chromium'), async () => {
  allow(/409/)
  const { page, handset, uuid } = await opened('+447700900410', 2)
  await page.setViewportSize({ width: 1_440, height: 480 })
  await answer(uuid, Array.from({ length: 22 }, (_, n) => `Line ${n + 1}`).join('\n'))
  await thread(page).getByText('Line 22').waitFor()
  await lookAway(page)
  const heights = await page.evaluate<number[]>(
    "['[role=log]', '.message-out .bubble'].map((of) => document.querySelector(of).getBoundingClientRect().height)",
  )
  const [room = 0, tall = 0] = heights
  assert.ok(room < 240 && room < 0.75 * tall, `the answer is ${tall} px in ${room}`)
  await box(page).fill('Seen')
  await box(page).press('Enter')
  await until(async () => (await received(handset)).includes('Seen'))
  assert.equal(await notice(page).count(), 0)
})
