import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, afterEach, test } from 'node:test'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { startVoicePlatform } from '../../src/domains/calls/call-testing.ts'
import { furtherWalk, needs } from '../needs.ts'
import { goodPassword, tokenOf } from '../persons.ts'
import { buyNumber, until } from '../platform.ts'
import { isWellMade, joinPlatform, mediaFlags, openPlatform, soundMeter, withWorker } from './fixture.ts'

// The telephone of the console, with the handsets of the sandbox at the other end.

/** Runs in each page: counts the sounds that it starts, and keeps its connections for the meter. Keeps the titles of its
 *  notifications, as browsers without a window show none. */
const script = `
  window.sounds = 0
  const { start } = AudioScheduledSourceNode.prototype
  AudioScheduledSourceNode.prototype.start = function (...when) {
    window.sounds += 1
    return start.apply(this, when)
  }
  window.notified = new Set()
  Object.defineProperty(Notification, 'permission', { get: () => 'granted' })
  if (window.ServiceWorkerRegistration)
    ServiceWorkerRegistration.prototype.showNotification = async (title) => void notified.add(title)
  ${soundMeter('totalAudioEnergy')}`

const platform = await startVoicePlatform()
after(() => platform.end('SIGKILL'))
const { signIn } = openPlatform(platform, { flags: mediaFlags, script })
const { call, url } = platform
const [ada, bob] = ['+447700900123', '+447700900777']
await call('POST', '/open/contacts', {
  ...{ first_name: 'Ada', last_name: 'Lovelace' },
  contact_details: [{ type: 'PH', value: ada }],
})

/** An agent with a number that rings at the agent, and is recorded. */
const makeAgent = async () => {
  const email = 'mia@example.com'
  const made = await call('POST', '/open/members', { first_name: 'Mia', last_name: 'Agent', email, role: 'agent' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const answer = await fetch(`${url}/console/invitations/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-trunkline-console': '1' },
    body: JSON.stringify({ token: tokenOf(made.body.invite_url), password: goodPassword }),
  })
  // As the contract of an invitation says.
  const boot = (await answer.json()) as { accounts: [{ uuid: string; user_uuid: string }] }
  const [{ uuid: account, user_uuid: user }] = boot.accounts
  const { number } = await buyNumber(platform)
  const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
  const own = numbers.find(({ phone_number }: { phone_number: string }) => phone_number === number)
  const set = await call('PUT', `/open/voip/virtual-numbers/${own.uuid}`, {
    inbound_user_uuid: user,
    record_inbound: true,
  })
  assert.equal(set.status, 200, JSON.stringify(set.body))
  return { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '', account, user, number }
}

const agent = await makeAgent()

const bar = (page: Page) => page.getByRole('region', { name: 'Telephone' })

const messages = (page: Page) => page.getByRole('region', { name: 'Messages' })

/** Opens the dialog of the telephone. */
const openDialog = async (page: Page) => {
  await page.getByRole('button', { name: 'Telephone', exact: true }).click()
  return page.getByRole('dialog')
}

const isReady = async (page: Page) => {
  const dialog = await openDialog(page)
  await dialog.getByText('Ready for calls').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
}

/** A tab that is signed in, with the telephone ready. */
const openTab = async (context?: BrowserContext, options?: BrowserContextOptions): Promise<Page> => {
  const page = context ? await context.newPage() : await signIn(agent, '/calls', options)
  if (context) await page.goto(`${url}/console/${agent.account}/calls`)
  await isReady(page)
  return page
}

/** Calls of handsets. Those that still ring would ring at the next test. */
const rung: (readonly [handset: string, id: string])[] = []
afterEach(async () => {
  for (const [handset, id] of rung.splice(0)) await hangUp(handset, id)
})

const ringFrom = async (handset: string, more = {}) => {
  const asked = await call('POST', `/sandbox/handsets/${handset}/calls`, { to: agent.number, ...more })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  rung.push([handset, asked.body.call_id])
  return asked.body.call_id as string
}

const hangUp = (handset: string, id: string) => call('POST', `/sandbox/handsets/${handset}/calls/${id}/hang-up`)

const newest = (query = '') =>
  until(async () => {
    const [cdr] = (await call('GET', `/open/voip/call-history?${query}`)).body.cdrs
    return cdr && !cdr.active ? cdr : null
  })

const sounds = (page: Page) => page.evaluate<number>('sounds')
const heard = (page: Page) => page.evaluate<number>('heard()')

/** Titles of the notifications that a page has shown. */
const notified = (page: Page) => page.evaluate<string[]>('[...notified]')

const dial = async (page: Page, number: string) => {
  const dialog = await openDialog(page)
  await dialog.getByLabel('Number to call').fill(number)
  const price = await dialog.locator('data').getAttribute('value')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  return Number(price)
}

test('/console/phone opens the telephone of the console, after the sign-in', needs('chromium'), async () => {
  const page = await signIn(agent, '/calls')
  await page.goto(`${url}/console/phone`)
  const field = page.getByRole('dialog').getByLabel('Number to call')
  await field.waitFor()
  await field.and(page.locator(':focus')).waitFor()
  assert.doesNotMatch(page.url(), /console\/phone/, 'the address is the one of the page below')
  await page.goto('about:blank')
  await page.context().clearCookies()
  await page.goto(`${url}/console/phone`)
  await page.getByLabel('Email').fill('mia@example.com')
  await page.getByLabel('Password', { exact: true }).fill(goodPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Number to call').waitFor()
})

test('a browser without a network address for calls is named before the call', needs('chromium'), async () => {
  const page = await signIn(agent, '/calls')
  await page.addInitScript('delete window.RTCPeerConnection')
  await page.goto(`${url}/console/phone`)
  await page.getByRole('dialog').getByText('Calls have no sound in this browser').waitFor()
})

test(
  'incoming-call: it is shown in every tab and rings in one, and its recording plays by keyboard',
  furtherWalk(),
  async () => {
    const first = await openTab()
    const second = await openTab(first.context())
    await call('POST', `/sandbox/handsets/${ada}/sms`, { to: agent.number, text: 'Where is my parcel?' })
    const conversation = await until(async () => {
      const [found] = (await call('GET', '/open/conversations')).body.conversations
      return found
    })
    await ringFrom(ada)
    await bar(second).getByText('Last message: Where is my parcel?').waitFor()
    for (const page of [first, second]) {
      await bar(page).getByText('Incoming call').waitFor()
      await bar(page).getByText('Ada Lovelace', { exact: true }).waitFor()
    }
    await until(async () => (await sounds(first)) > 0)
    assert.equal(await sounds(second), 0, 'it rings in one tab')
    await isWellMade(second, 'an incoming call')
    await second.keyboard.press('Alt+a')
    await bar(second).getByText('In a call').waitFor()
    await until(async () => (await heard(first)) > 0)
    await bar(second)
      .getByRole('img', { name: /Quality [34] of 4/ })
      .waitFor()
    await bar(second).getByRole('button', { name: 'Keypad' }).click()
    await second.keyboard.press('5')
    await bar(second).getByText('Sent: 5').waitFor()
    await isWellMade(second, 'a call with its keypad')
    await second.keyboard.press('Alt+m')
    await bar(first).getByRole('button', { name: 'Unmute' }).waitFor()
    await second.keyboard.press('Alt+h')
    await bar(first).getByText('On hold').waitFor()
    await second.keyboard.press('Alt+h')
    await bar(first).getByText('In a call').waitFor()
    await bar(second).getByRole('button', { name: 'Note' }).click()
    await bar(second).getByLabel('Note about the call').fill('She asks for a parcel')
    await second.keyboard.press('Alt+x')
    await bar(second).getByText('Call ended').waitFor()
    await isWellMade(second, 'the end of a call')
    assert.equal(await bar(second).getByLabel('Note about the call').inputValue(), 'She asks for a parcel')
    await bar(second).getByRole('button', { name: 'Save note' }).click()
    await messages(second).getByText('The note was saved').waitFor()
    const { items } = (await call('GET', `/open/conversations/${conversation.uuid}/items?kinds=note`)).body
    assert.equal(items[0].note.text, 'She asks for a parcel')
    await bar(second).getByRole('button', { name: 'Close the conversation' }).click()
    await messages(second).getByText('The conversation was closed').waitFor()

    const cdr = await newest()
    assert.deepEqual([cdr.status, cdr.direction, cdr.agent_id], ['COMPLETED', 'I', agent.user])
    assert.ok(cdr.quality.callee.mos > 3, JSON.stringify(cdr.quality))
    await bar(second).getByRole('link', { name: 'Call details' }).click()
    await second.getByRole('heading', { level: 1, name: 'Call with Ada Lovelace' }).waitFor()
    assert.match(second.url(), new RegExp(cdr.uuid))
    const steps = second.getByRole('list', { name: 'What happened, step by step' })
    const connected = steps.getByRole('listitem').filter({ hasText: 'the audio is connected' })
    await connected.filter({ hasText: 'Caller: Ada Lovelace' }).waitFor()
    await connected.filter({ hasText: 'Called: Mia Agent' }).waitFor()
    const player = second.getByRole('region', { name: 'Recording of the call' })
    await player.getByRole('slider', { name: 'Position' }).focus()
    await second.keyboard.press('Space')
    await player.getByRole('button', { name: 'Pause' }).waitFor()
    await second.keyboard.press('Space')
    await second.keyboard.press('Home')
    await second.keyboard.press('ArrowUp')
    assert.equal(await player.getByLabel('Speed').inputValue(), '1.25')
    await second.keyboard.press('m')
    await second.waitForURL(/marks=/)
    await second.reload()
    await player.getByRole('button', { name: /^Go to/ }).click()
    await isWellMade(second, 'the page of a call with a recording')
  },
)

test(
  'outgoing-call: busy and unanswered numbers are said in words, and the charge is the estimate',
  furtherWalk(),
  async () => {
    const page = await openTab()
    const dialog = await openDialog(page)
    await dialog.getByLabel('Number to call').fill('Ada')
    await dialog.getByRole('button', { name: /Ada Lovelace/ }).click()
    await dialog.getByText('United Kingdom').waitFor()
    await isWellMade(page, 'the dialog of the telephone')
    await page.keyboard.press('Escape')

    await dial(page, '+44 7700 900004')
    await bar(page).getByText('The number is busy').waitFor()
    assert.equal((await newest()).status, 'BUSY')
    await dial(page, '+44 7700 900005')
    await bar(page).getByText('Ringing').waitFor()
    await page.keyboard.press('Alt+x')
    await bar(page).getByText('Canceled').waitFor()

    const price = await dial(page, bob)
    await bar(page).getByText('In a call').waitFor()
    await until(async () => (await heard(page)) > 0)
    await bar(page).getByRole('button', { name: 'Hang up' }).click()
    await bar(page).getByText('Call ended').waitFor()
    const cdr = await newest(`number=${encodeURIComponent(bob)}`)
    assert.equal(cdr.call_cost.call_price, price, 'a call of less than a minute costs the price of a minute')
    await bar(page).getByRole('link', { name: 'Call details' }).click()
    await page.getByText('There is no recording').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Call again' }).click()
    await page.getByRole('dialog').getByLabel('Number to call').waitFor()
    assert.match(await page.getByRole('dialog').getByLabel('Number to call').inputValue(), /7700 ?900777/)
  },
)

test(
  'call-in-a-hidden-tab: a hidden tab rings and notifies at once, and another tab takes over within 2 s of its end',
  furtherWalk(),
  async () => {
    const first = await openTab(undefined, withWorker)
    const second = await openTab(first.context())
    await first.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))`)
    const look = (isAway: boolean) =>
      second.evaluate(`
        Object.defineProperty(document, 'hasFocus', { configurable: true, value: () => ${!isAway} })
        dispatchEvent(new Event('${isAway ? 'blur' : 'focus'}'))`)
    await look(true)
    const cdp = await first.context().newCDPSession(first)
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    const id = await ringFrom(ada)
    await until(async () => (await sounds(first)) > 0)
    await bar(second).getByText('Incoming call').waitFor()
    await until(async () => (await notified(first)).includes('Incoming call'))
    await look(false)
    await hangUp(ada, id)
    await bar(second).getByText('Missed call').waitFor()
    assert.equal(await sounds(second), 0)

    const dialog = await openDialog(second)
    await dialog.getByText('Ready for calls').waitFor()
    const taken = second.evaluate<number>(`new Promise((resolve) => {
      let began = 0
      new MutationObserver(() => {
        const text = document.querySelector('dialog[open]')?.textContent ?? ''
        if (text.includes('connecting')) began ||= performance.now()
        if (began && text.includes('Ready for calls')) resolve(Date.now())
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })`)
    const closed = Date.now()
    await first.close()
    const after = (await taken) - closed
    assert.ok(after <= 2_000, `${after} ms`)
    await second.keyboard.press('Escape')
    await ringFrom(ada)
    await bar(second).getByText('Incoming call').waitFor()
    await until(async () => (await sounds(second)) > 0)
    await bar(second).getByRole('button', { name: 'Reject' }).click()
    await bar(second).getByText('You declined the call').waitFor()
    assert.ok(!(await notified(second)).includes('Incoming call'), 'the page is looked at')
  },
)

test('a tab of another person shows no call of the first, and cannot end it', furtherWalk(), async () => {
  const first = await openTab()
  await dial(first, bob)
  await bar(first).getByText('In a call').waitFor()
  const linus = await joinPlatform(platform, 'Linus Berg')
  const [name = '', value = ''] = linus.cookie.split('=')
  await first.context().addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
  const second = await openTab(first.context())
  await second.getByRole('button', { name: 'Linus Berg: your menu' }).waitFor()
  assert.equal(await bar(second).getByText('In a call').count(), 0)
  await second.keyboard.press('Alt+x')
  await dial(second, '+44 7700 900004')
  await bar(second).getByText('The number is busy').waitFor()
  await bar(first).getByText('In a call').waitFor()
  await first.keyboard.press('Alt+x')
  await bar(first).getByText('Call ended').waitFor()
})

test('a second call waits, and the first one is held while it is answered', furtherWalk(), async () => {
  const page = await openTab()
  await ringFrom(ada)
  await bar(page).getByRole('button', { name: 'Accept' }).click()
  await bar(page).getByText('In a call').waitFor()
  await ringFrom(bob)
  const accept = bar(page).getByRole('button', { name: 'Hold and accept' })
  await accept.waitFor()
  await isWellMade(page, 'a call that waits')
  await accept.click()
  await bar(page).getByText('On hold').waitFor()
  await bar(page).getByText('In a call').waitFor()
  // Leaving the page would end the calls, so the browser asks.
  const asked = page.waitForEvent('dialog')
  const left = page.close({ runBeforeUnload: true })
  const question = await asked
  assert.equal(question.type(), 'beforeunload')
  await question.dismiss()
  await left
  await page.keyboard.press('Alt+x')
  await bar(page).getByRole('button', { name: 'Resume' }).click()
  await bar(page).getByText('In a call').waitFor()
  await page.keyboard.press('Alt+x')
  await bar(page).getByText('Call ended').waitFor()
})

test('phone-width: a call is taken and ended by touch at 360 px', furtherWalk(), async () => {
  const touch = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true }
  const page = await signIn(agent, '/calls', touch)
  await page.getByRole('button', { name: 'Telephone', exact: true }).tap()
  await page.getByRole('dialog').getByText('Ready for calls').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).tap()
  await ringFrom(ada)
  await bar(page).getByRole('button', { name: 'Accept' }).tap()
  await bar(page).getByText('In a call').waitFor()
  await bar(page).getByRole('button', { name: 'Hang up' }).tap()
  await bar(page).getByText('Call ended').waitFor()
})

test('away: calls do not ring, in no tab and not by the server', furtherWalk(), async () => {
  const page = await openTab()
  const dialog = await openDialog(page)
  const isAway = async (wanted: 'away' | 'available') => {
    const { members } = (await call('GET', '/open/team')).body
    return members.some(
      ({ user_uuid, availability }: Record<string, string>) => user_uuid === agent.user && availability === wanted,
    )
  }
  await dialog.getByLabel('Away').check()
  await until(() => isAway('away'))
  const before = await newest()
  await ringFrom(bob)
  const missed = await until(async () => {
    const cdr = await newest()
    return cdr.uuid !== before.uuid && cdr
  })
  assert.deepEqual([missed.from, missed.status], [bob, 'MISSED'])
  assert.equal(await sounds(page), 0)
  await dialog.getByLabel('Away').uncheck()
  await until(() => isAway('available'))
})

test(
  'the history has missed calls first, filters in the address, and the same rows as CSV',
  furtherWalk(),
  async () => {
    const page = await openTab()
    const id = await ringFrom(bob)
    await bar(page).getByText('Incoming call').waitFor()
    await hangUp(bob, id)
    await bar(page).getByText('Missed call').waitFor()
    await bar(page).getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Missed' }).click()
    const rows = page.getByRole('table', { name: 'Calls of the account' }).getByRole('row')
    await rows.filter({ hasText: '900777' }).first().waitFor()
    await isWellMade(page, 'missed calls')
    await page.getByLabel('Name or part of a number').fill('Ada')
    await page.waitForURL(/q=Ada/)
    await until(async () => (await rows.filter({ hasText: '900777' }).count()) === 0)
    await page.getByRole('link', { name: 'Recorded' }).click()
    await page.waitForURL(/recorded=true/)
    await rows.filter({ hasText: 'Ada Lovelace' }).first().waitFor()
    const { total } = (await call('GET', '/open/voip/call-history?recorded=true')).body
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    const lines = (await readFile(await file.path(), 'utf8')).trim().split(/\r?\n/)
    assert.equal(lines.length, 1 + total)
    await page.goto(`${url}/console/you/telephone`)
    await page.getByRole('button', { name: 'Test the microphone' }).click()
    await page.getByText('Speak: the bar moves').waitFor()
    await isWellMade(page, 'the devices of the telephone')
  },
)
