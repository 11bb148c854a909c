import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { longForm, needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { makeCollisions } from './collisions.ts'
import { openFirefoxConsole } from './firefox-fixture.ts'
import { joinPlatform } from './fixture.ts'

// Answers that cross, and keys that follow at once, in Debian's Firefox. collisions.test.ts tries the same in Chromium.

const form = longForm().skip ? longForm() : needs('firefox-esr')

describe('two colleagues and fast fingers in Firefox', form, async () => {
  const platform = await startPlatform()
  after(() => platform.end('SIGKILL'))
  const { signIn, allow } = await openFirefoxConsole(platform.url, '')
  const { number } = await buyNumber(platform)
  const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')
  const linus = await joinPlatform(platform, 'Linus Berg')
  const { begin, collide, assertSeen, discard } = makeCollisions(platform, linus)

  test('a reply stops while the answer of a colleague was not seen', async () => {
    allow(/^409 /)
    const place = { handset: '+447700900421', uuid: await begin('+447700900421', number, 25) }
    const page = await signIn(ruth, `/inbox/all/${place.uuid}`)
    await page.role('log', 'Messages').text('Question 25 of 25').isShown()
    const tries = Array.from({ length: 20 }, (_, n) => n * 100 + 50)
    for (const [n, delay] of tries.entries()) {
      const scroll = n % 2 === 0 ? 0 : 600
      const outcome = await collide(page, place, `Mine ${n} at ${scroll}`, { delay, scroll })
      assertSeen(outcome, scroll)
      if (outcome.hasNotice) await discard(page)
    }
  })

  test('what is typed at once after r is in the box', async () => {
    const uuid = await begin('+447700900422', number, 1)
    const page = await signIn(ruth, `/inbox/all/${uuid}`)
    const box = page.role('textbox', /^Reply to/)
    await box.isShown()
    for (let n = 0; n < 100; n += 1) {
      await page.run("document.querySelector('h1').focus()")
      await page.type('reasxup tcvf jknr')
      assert.equal(await box.read('([field]) => field.value'), 'easxup tcvf jknr')
      await page.press('Control+a')
      await page.press('Backspace')
      await page.press('Escape')
    }
    const { status, assignee_uuid } = (await platform.call('GET', `/open/conversations/${uuid}`)).body.conversation
    assert.deepEqual([status, assignee_uuid], ['open', undefined])
    await until(() => page.run<boolean>("document.querySelector('dialog[open]') === null"))
  })
})
