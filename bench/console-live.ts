import { setTimeout as pause } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { joinPlatform, type Member } from '../test/console/fixture.ts'
import type { Answer } from '../test/platform.ts'
import { benchRun } from './bench.ts'
import { startWithInbox } from './filled-inbox.ts'
import { from, key } from './platform.ts'

// Waits of people of a large team in the inbox: a text of a handset, the answer and the typing of a colleague, and
// the results of a search. Times end with the paint in the browser.

const { number, word, record } = benchRun()
const only = word('only')

/** Runs before the scripts of a page: notes when a text is painted within the elements of a selector. */
const probe = `(() => {
  globalThis.expectText = (selector, text) => {
    globalThis.painted = new Promise((done, fail) => {
      setTimeout(() => fail(new Error('not shown within 30 s: ' + selector + ' ' + text)), 30_000)
      const has = () => [...document.querySelectorAll(selector)].some(({ textContent }) => textContent.includes(text))
      const look = () => {
        if (!has()) return
        observer.disconnect()
        requestAnimationFrame(() => setTimeout(() => done(Date.now())))
      }
      const observer = new MutationObserver(look)
      observer.observe(document, { subtree: true, childList: true, characterData: true })
      look()
    })
  }
})()`

/** Waits until the page shows a text. @returns the milliseconds since `act` began */
const timeOf = async (page: Page, selector: string, text: string, act: () => Promise<unknown>): Promise<number> => {
  await page.evaluate(`expectText(${JSON.stringify(selector)}, ${JSON.stringify(text)})`)
  const began = Date.now()
  await act()
  return (await page.evaluate<number>('painted')) - began
}

const p95 = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN

const given = word('url')
const platform = await startWithInbox(number('conversations'), given)
const address = platform?.url ?? given
const accountKey = word('key') || key

const call = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(address + path, {
    method,
    headers: { 'x-user-api-key': accountKey, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  // As the contracts of the paths say.
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

const browser: Browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
})

const openPage = async (url: string, member: Member, path: string): Promise<Page> => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' })
  const [name = '', value = ''] = member.cookie.split('=')
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
  await context.addInitScript(probe)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${url}/console/${member.account}/inbox/${path}`)
  return page
}

const items = '.thread-items'
/** Names the people of this run, as a running platform has those of others. */
const mark = Date.now().toString(36)
const join = (name: string) => joinPlatform({ url: address, call }, `${name}${mark} Bench`, 'admin')
const [writer, reader] = [await join('Ada'), await join('Grace')]

/** Measures what one browser sees of a handset and of the other browser. @param url of the browser that sees */
const measureNews = async (url: string, handset: string) => {
  const write = (text: string) =>
    call('POST', `/sandbox/handsets/${encodeURIComponent(handset)}/sms`, { to: from, text })
  await write(`First ${mark}`)
  const { uuid } = (await call('POST', '/open/conversations', { number: handset })).body.conversation
  const a = await openPage(address, writer, `open/${uuid}`)
  const b = await openPage(url, reader, `open/${uuid}`)
  for (const page of [a, b]) await page.locator(items).getByText(`First ${mark}`).waitFor()
  // Both are shown to each other once their lines are open.
  for (const page of [a, b])
    await page
      .getByText(/is here too/)
      .first()
      .waitFor()
  const texts: number[] = []
  for (let n = 0; n < number('texts'); n++) {
    texts.push(await timeOf(b, items, `text ${mark} ${n}.`, () => write(`text ${mark} ${n}.`)))
    // The texts fall into all moments between two looks of a process at the events of others.
    await pause(40 + ((n * 37) % 150))
  }
  const [answers, typing]: [number[], number[]] = [[], []]
  await a.locator('.inbox-thread textarea').first().focus()
  for (let n = 0; n < number('answers'); n++) {
    typing.push(await timeOf(b, '.thread-presence', `Ada${mark} Bench is typing`, () => a.keyboard.press('w')))
    await a.keyboard.insertText(`answer ${mark} ${n}.`)
    await pause(40 + ((n * 37) % 150))
    answers.push(await timeOf(b, items, `answer ${mark} ${n}.`, () => a.keyboard.press('Enter')))
    await b.locator('.thread-presence .is-typing').waitFor({ state: 'detached' })
  }
  for (const page of [a, b]) await page.context().close()
  return { text: p95(texts), answer: p95(answers), typing: p95(typing) }
}

const commonWords = `hello good number order ported yet invoice please call back today tomorrow morning delivery address
  thanks account question about plan message arrived late refund received card declined change appointment`.split(/\s+/)
/** A common word, in letters of another case each time round: pages keep what they have found. */
const common = (n: number) => {
  const round = Math.floor(n / commonWords.length)
  const word = commonWords[n % commonWords.length] ?? ''
  return word.slice(0, round).toUpperCase() + word.slice(round)
}

const lastNames = ['Lovelace', 'Hopper', 'Johnson', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Perlman', 'Hamilton']

/** The searched words, different each time: a page keeps what it has found. */
const searches: { readonly [kind: string]: (n: number) => string } = {
  rare: (n) => `ref${46_000 + ((n * 97) % 4_000)}`,
  common,
  number: (n) => `+447${String(1 + ((n * 7_919) % number('conversations'))).padStart(9, '0')}`,
  name: (n) => `${lastNames[(n >> 2) % lastNames.length]} ${n}`,
}

/** Puts a text into a field at once, as a paste does. */
const put = (page: Page, selector: string, text: string) =>
  page.evaluate(`(() => {
    const field = document.querySelector(${JSON.stringify(selector)})
    field.value = ${JSON.stringify(text)}
    field.dispatchEvent(new InputEvent('input', { bubbles: true }))
  })()`)

/** Searches by the field of the list: from Enter to the paint of what is found. */
const measureSearch = async () => {
  const page = await openPage(address, reader, 'all')
  await page.locator('.inbox-rows li').first().waitFor()
  const field = 'input[data-search]'
  for (const [kind, textOf] of Object.entries(searches)) {
    const times: number[] = []
    for (let n = 0; n < number('searches'); n++) {
      await put(page, field, textOf(n))
      times.push(
        await timeOf(page, '.inbox-list-foot', 'In all conversations', () => page.locator(field).press('Enter')),
      )
      await page.locator(field).press('Escape')
      await page.locator('.inbox-list-foot', { hasNotText: 'In all conversations' }).waitFor()
    }
    record({ [`search.${kind}`]: p95(times) })
  }
  await page.context().close()
}

if (only === '' || only === 'one') {
  const { text, answer, typing } = await measureNews(address, '+447700900501')
  record({ text, answer, typing })
}
if (only === '' || only === 'two') {
  const url = word('second') || (await platform?.addProcess({ TRUNKLINE_ROLES: 'api,console' })) || address
  const { text, answer, typing } = await measureNews(url, '+447700900502')
  record({ 'two.text': text, 'two.answer': answer, 'two.typing': typing })
}
if (only === '' || only === 'search') await measureSearch()
await browser.close()
await platform?.stop()
