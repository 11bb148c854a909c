import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { launchProfile } from '../chromium.ts'
import { furtherWalk, needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import { isWellMade, joinPlatform, openPlatform, withWorker } from './fixture.ts'

// Sending from the inbox when something is in the way, and the inbox in other shapes.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const { number } = await buyNumber(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')

const handsetOf = async (handset: string) => (await call('GET', `/sandbox/handsets/${handset}`)).body
const received = async (handset: string): Promise<string[]> =>
  (await handsetOf(handset)).sms
    .filter(({ direction }: { direction: string }) => direction === 'inbound')
    .map(({ text }: { text: string }) => text)

const write = async (from: string, text: string): Promise<void> => {
  assert.equal((await call('POST', `/sandbox/handsets/${from}/sms`, { to: number, text })).status, 202)
}

const begin = async (handset: string): Promise<string> =>
  (await call('POST', '/open/conversations', { number: handset })).body.conversation.uuid

const thread = (page: Page) => page.getByRole('log', { name: 'Messages' })
const inThread = (page: Page, text: string | RegExp) => thread(page).getByText(text).first().waitFor()
const box = (page: Page) => page.getByRole('textbox', { name: /^Reply to/ })
const send = async (page: Page, text: string): Promise<void> => {
  await box(page).fill(text)
  await box(page).press('Enter')
}

test(
  'no-line: what is written without a line is sent once and in order, after a reload too',
  needs('chromium'),
  async () => {
    // Messages that wait and arrive at once move the beginning of a short thread, and the rows of the list.
    allow(/ERR_INTERNET_DISCONNECTED|WebSocket|409|fetching the script|^layout shift/)
    const handset = '+447700900331'
    const page = await signIn(ruth, `/inbox/all/${await begin(handset)}`, withWorker)
    await inThread(page, 'The conversation began')
    const texts = ['First', 'Second', 'Third']
    await page.context().setOffline(true)
    for (const text of texts) {
      await send(page, text)
      await inThread(page, text)
    }
    await write(handset, 'What came meanwhile')
    await inThread(page, 'will be sent when connected')
    await page.getByRole('button', { name: 'Take back' }).first().waitFor()
    await page.context().setOffline(false)
    await page.reload()
    for (const text of texts) await inThread(page, text)
    await inThread(page, 'What came meanwhile')
    await until(async () => (await received(handset)).length >= 3)
    assert.deepEqual(await received(handset), texts)
    await thread(page).getByText('sending').waitFor({ state: 'detached' })
    for (const text of texts) assert.equal(await thread(page).getByText(text, { exact: true }).count(), 1, text)
  },
)

test(
  'restart: without a line the page opens after a restart of the browser, and what was written is sent once',
  furtherWalk(),
  async () => {
    const handset = '+447700900337'
    const address = `${platform.url}/console/${ruth.account}/inbox/all/${await begin(handset)}`
    const profile = temporaryFolder()
    const first = await launchProfile(profile)
    after(() => first.close())
    const [name = '', value = ''] = ruth.cookie.split('=')
    const expires = Math.floor(Date.now() / 1_000) + 3_600
    await first.addCookies([
      { name, value, domain: '127.0.0.1', path: '/', httpOnly: true, sameSite: 'Strict', expires },
    ])
    const page = await first.newPage()
    await page.goto(address)
    await inThread(page, 'The conversation began')
    await until(() => page.evaluate<boolean>("caches.match('/console').then(Boolean)"))
    await first.setOffline(true)
    for (const text of ['First of two', 'Second of two']) {
      await send(page, text)
      await inThread(page, text)
    }
    await box(page).fill('And a draft')
    // The tool cuts off pages only, and not the worker.
    const worker = first.serviceWorkers()[0] ?? assert.fail('the page has no service worker')
    await worker.evaluate("self.fetch = async () => { throw new TypeError('offline') }")
    await page.reload()
    await page.getByRole('heading', { name: 'The server cannot be reached' }).waitFor()
    await first.close()

    const second = await launchProfile(profile, true)
    after(() => second.close())
    const again = await second.newPage()
    await again.goto(address)
    await again.getByRole('heading', { name: 'The server cannot be reached' }).waitFor()
    await second.setOffline(false)
    await inThread(again, 'Second of two')
    assert.equal(await box(again).inputValue(), 'And a draft')
    await until(async () => (await received(handset)).length >= 2)
    await thread(again).getByText('sending').waitFor({ state: 'detached' })
    assert.deepEqual(await received(handset), ['First of two', 'Second of two'])
    await second.close()
  },
)

test(
  'two-tabs: what one tab could not send another one sends, and the first sends none of it again',
  furtherWalk(),
  async () => {
    allow(/ERR_FAILED|^layout shift/)
    const handset = '+447700900338'
    const path = `/inbox/all/${await begin(handset)}`
    const first = await signIn(ruth, path, withWorker)
    await inThread(first, 'The conversation began')
    const isAnswer = /conversations\/[^/]+\/messages$/
    await first.route(isAnswer, (route) => route.abort())
    const tried = first.waitForEvent('requestfailed', (request) => isAnswer.test(request.url()))
    await send(first, 'Tried by the first tab')
    await tried
    await send(first, 'Waits behind it')
    const second = await first.context().newPage()
    await second.goto(first.url())
    await until(async () => (await received(handset)).length === 2)
    await first.unroute(isAnswer)
    for (const state of ['will be sent when connected', 'sending', 'not sent'])
      await thread(first).getByText(state).first().waitFor({ state: 'detached' })
    assert.equal(await first.getByRole('button', { name: /Send again/ }).count(), 0)
    assert.deepEqual(await received(handset), ['Tried by the first tab', 'Waits behind it'])
  },
)

test('take-back: a message that was on its way without a line is never sent', furtherWalk(), async () => {
  allow(/ERR_INTERNET_DISCONNECTED|WebSocket|fetching the script/)
  const handset = '+447700900344'
  const page = await signIn(ruth, `/inbox/all/${await begin(handset)}`, withWorker)
  await inThread(page, 'The conversation began')
  await page.context().setOffline(true)
  await send(page, 'Not this one')
  await page.getByRole('button', { name: 'Take back' }).click()
  assert.equal(await box(page).inputValue(), 'Not this one')
  await page.context().setOffline(false)
  await send(page, 'But this one')
  await until(async () => (await received(handset)).includes('But this one'))
  await send(page, 'And this')
  await until(async () => (await received(handset)).includes('And this'))
  assert.deepEqual(await received(handset), ['But this one', 'And this'])
})

test('sign-out: the texts of the person leave the browser', furtherWalk(), async () => {
  allow(/401/)
  const uuid = await begin('+447700900335')
  const page = await signIn(await joinPlatform(platform, 'Mary Ward'), `/inbox/all/${uuid}`)
  await inThread(page, 'The conversation began')
  await box(page).fill('To be continued')
  await page.getByRole('button', { name: 'Mary Ward: your menu' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.waitForURL(/sign-in/)
  const keys = await page.evaluate(() => Object.keys(localStorage))
  assert.deepEqual(
    keys.filter((key) => key.startsWith('trunkline.draft.')),
    [],
  )
})

test('opted-out: STOP is shown before anything is sent, and START lifts it', furtherWalk(), async () => {
  const handset = '+447700900332'
  await write(handset, 'STOP')
  const uuid = await begin(handset)
  const page = await signIn(ruth, `/inbox/all/${uuid}`)
  const warning = page.getByText('The person has opted out of SMS.').filter({ visible: true })
  await warning.first().waitFor()
  await isWellMade(page, 'a person who has opted out')
  await box(page).fill('Are you there?')
  await box(page).press('Enter')
  assert.equal(await box(page).inputValue(), 'Are you there?', 'the text stays')
  await write(handset, 'START')
  await warning.first().waitFor({ state: 'detached' })
  await box(page).press('Enter')
  await until(async () => (await received(handset)).includes('Are you there?'))
})

test(
  'failed-text: a failed message says why in its thread, and send again is a new message',
  needs('chromium'),
  async () => {
    const handset = '+447700900001'
    const page = await signIn(ruth, `/inbox/all/${await begin(handset)}`)
    await inThread(page, 'The conversation began')
    await send(page, 'Your order is ready')
    await inThread(page, 'not delivered')
    await inThread(page, /could not be delivered to the recipient/)
    await isWellMade(page, 'a message that failed')
    await page.getByRole('button', { name: /Send again/ }).click()
    await until(async () => (await thread(page).getByText('Your order is ready', { exact: true }).count()) === 2)
  },
)

test(
  'media: a picture goes out by the app and comes in, and a file that SMS cannot carry is not attached',
  furtherWalk(),
  async () => {
    const handset = '+447700900333'
    const app = (await call('GET', '/open/msgapp/get-numbers')).body.numbers[0]
    const wrote = await call('POST', `/sandbox/handsets/${handset}/msgapp`, {
      to: app.phone_number,
      text: 'Send me a picture',
    })
    assert.equal(wrote.status, 202)
    const page = await signIn(ruth, '/inbox/all')
    await page.getByRole('link', { name: /Send me a picture/ }).click()
    await inThread(page, 'Send me a picture')
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const [picker] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Attach a file' }).click(),
    ])
    await picker.setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png })
    await page.getByRole('button', { name: 'Remove dot.png' }).waitFor()
    await page.getByText('dot.png is being uploaded').waitFor({ state: 'detached' })
    await send(page, 'Here it is')
    await thread(page).getByRole('img', { name: 'dot.png' }).waitFor()
    await until(async () => JSON.stringify((await handsetOf(handset)).msgapp).includes('Here it is'))
    await page.getByRole('button', { name: /^Send by/ }).click()
    await page.getByRole('menuitemradio', { name: /^SMS/ }).first().click()
    await page.getByRole('button', { name: 'Attach a file' }).waitFor({ state: 'detached' })
  },
)

test('phone-width: a text is answered at 360 px by touch, and Back leads to the list', furtherWalk(), async () => {
  const handset = '+447700900334'
  await write(handset, 'From my phone to yours')
  const page = await signIn(ruth, '/inbox', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true })
  await page.getByRole('link', { name: /From my phone to yours/ }).tap()
  await inThread(page, 'From my phone to yours')
  await box(page).fill('Received')
  await page.getByRole('button', { name: 'Send', exact: true }).tap()
  await inThread(page, 'delivered')
  assert.deepEqual(await received(handset), ['Received'])
  await page.getByRole('link', { name: 'Show details' }).tap()
  await page.getByRole('complementary', { name: 'Details' }).getByText('Reached by').waitFor()
  await page.getByRole('link', { name: 'Back to the conversation' }).tap()
  await page.getByRole('link', { name: 'Back to the list' }).tap()
  await page.getByRole('link', { name: /We: Received/ }).waitFor()
  await page.goBack()
  await inThread(page, 'Received')
})

test('arabic: mirrored, with both directions of writing in one thread', furtherWalk(), async () => {
  const handset = '+447700900335'
  await write(handset, 'مرحبا، طلبي 4711 لم يصل')
  const page = await signIn(ruth, '/inbox')
  await page.getByRole('link', { name: /مرحبا/ }).waitFor()
  // The test itself mirrors the page: a jump after a key is no fault of the page.
  await page.keyboard.press('Shift')
  await page.evaluate("document.documentElement.dir = 'rtl'")
  await page.getByRole('link', { name: /مرحبا/ }).click()
  await inThread(page, /مرحبا/)
  await send(page, 'Order 4711 is on its way')
  await inThread(page, 'delivered')
  await isWellMade(page, 'a thread from right to left')
  const side = async (text: string) => (await thread(page).getByText(text).first().boundingBox())?.x ?? 0
  assert.ok((await side('Order 4711')) < (await side('مرحبا')), 'own messages are at the end of the line: left')
  assert.equal((await received(handset))[0], 'Order 4711 is on its way')
})

test(
  'keyboard: a conversation is found, opened, tagged, answered and closed without a mouse',
  furtherWalk(),
  async () => {
    await call('POST', '/open/tags', { name: 'Parcels', color: 'blue' })
    const handset = '+447700900336'
    await write(handset, 'Keys only, please')
    const page = await signIn(ruth, '/inbox')
    await page.getByRole('link', { name: /Keys only, please/ }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Close, and go to the next').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.keyboard.type('Keys only')
    await page.getByText('In all conversations').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await inThread(page, 'Keys only, please')
    await page.keyboard.press('r')
    await until(async () => page.evaluate<boolean>("document.activeElement?.tagName === 'TEXTAREA'"))
    await page.keyboard.type('x e a s')
    assert.equal(await box(page).inputValue(), 'x e a s', 'single keys write in the box')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('By keys')
    await page.keyboard.press('Enter')
    await inThread(page, 'delivered')
    await page.keyboard.press('Escape')
    await page.keyboard.press('t')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await inThread(page, 'You added the tag Parcels')
    await page.keyboard.press('Escape')
    await page.keyboard.press('e')
    await page.getByText('Conversation closed').first().waitFor()
    const { conversations } = (await call('GET', '/open/conversations?status=closed')).body
    assert.equal(conversations[0].counterpart, handset)
  },
)

test('an inbox that shows one conversation after another keeps none of the former ones', furtherWalk(), async () => {
  allow(/^layout shift/)
  const uuids: string[] = []
  for (let n = 10; n < 22; n++) uuids.push(await begin(`+4477009004${n}`))
  const page = await signIn(ruth, '/inbox/all')
  const devtools = await page.context().newCDPSession(page)
  const round = async () => {
    for (const uuid of uuids) {
      await page.locator(`[data-row="${uuid}"]`).click()
      await page.waitForURL(new RegExp(uuid))
      await inThread(page, 'The conversation began')
    }
  }
  const kept = async () => {
    await devtools.send('HeapProfiler.collectGarbage')
    const { nodes } = await devtools.send('Memory.getDOMCounters')
    const { usedSize } = await devtools.send('Runtime.getHeapUsage')
    return { nodes, bytes: usedSize }
  }
  await round()
  const early = await kept()
  await round()
  await round()
  // What ends after a paint may need a second look.
  await until(async () => {
    const { nodes, bytes } = await kept()
    return nodes < early.nodes + 1_500 && bytes < early.bytes + 4e6
  })
})
