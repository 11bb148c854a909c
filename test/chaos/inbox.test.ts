import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { launchChromium } from '../chromium.ts'
import { joinPlatform } from '../console/fixture.ts'
import { type Answer, buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * Kills the platform while handsets write, the API answers, and two agents answer in the inbox: each conversation then
 * has exactly the messages of its thread, and each answer was charged once. The long form kills 20 times during 500
 * texts, and compares a page that was open all the time.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const [kills, texts] = long ? [20, 500] : [1, 40]
const handsets = Array.from({ length: 6 }, (_, n) => `+4477009004${String(n + 20)}`)
const price = 0.04

let platform: Platform
after(() => platform?.end('SIGKILL'))

type Item = { uuid: string; kind?: string; sms?: { text: string } }

const readAll = async (path: string, field: string): Promise<Item[]> => {
  const found: Item[] = []
  for (let cursor = ''; ; ) {
    const { body } = await platform.call('GET', `${path}?results_per_page=200${cursor}`)
    found.push(...body[field])
    if (body.next_cursor === undefined) return found
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** Repeats a request with one key until the platform has answered it. */
const insist = async (path: string, body: object, key: string): Promise<Answer['body']> => {
  for (;;) {
    const answer = await platform.call('POST', path, body, { 'idempotency-key': key }).catch(() => null)
    if (answer && answer.status < 300) return answer.body
    if (answer && answer.status < 500) assert.fail(JSON.stringify(answer))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const balance = async () => Number((await platform.call('GET', '/open/info')).body.balance.amount)

/** Opens the conversation with a handset in a browser. */
const openPage = async (handset: string): Promise<Page> => {
  const agent = await joinPlatform(platform, 'Ada Watcher', 'admin')
  const { conversation } = await insist('/open/conversations', { number: handset }, 'the watched conversation')
  const browser = await launchChromium()
  after(() => browser.close())
  const context = await browser.newContext()
  const [name = '', value = ''] = agent.cookie.split('=')
  await context.addCookies([{ name, value, url: platform.url, httpOnly: true, sameSite: 'Strict' }])
  const page = await context.newPage()
  await page.goto(`${platform.url}/console/${agent.account}/inbox/all/${conversation.uuid}`)
  await page.locator('.thread-items').waitFor()
  await page.evaluate('window.isSame = true')
  return page
}

const textsIn = (page: Page) =>
  page.evaluate<string[]>("[...document.querySelectorAll('.thread-items .bubble-text')].map((one) => one.textContent)")

test(`every message is in its conversation once, over ${kills} kills of the platform`, async () => {
  platform = await startPlatform(homeOnDisk())
  const { account } = (await platform.call('GET', '/open/info')).body
  await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '1000' })
  const { number, channel } = await buyNumber(platform)
  const before = await balance()
  // The page stays at one address.
  const env: Record<string, string> = long ? { TRUNKLINE_PORT: new URL(platform.url).port } : {}
  const page = long ? await openPage(handsets[0] ?? '') : null
  let written = 0
  let isOver = false
  const write = async (_: unknown, n: number) => {
    const handset = handsets[n] ?? ''
    while (written < texts) {
      const body = { to: number, text: `text ${written}` }
      const sent = await platform.call('POST', `/sandbox/handsets/${handset}/sms`, body).catch(() => null)
      if (sent && sent.status < 300) written++
      // An answer of the API, which begins no conversation by itself.
      const answer = { from_number: number, to_number: handset, text: 'An answer' }
      if (written % 3 === 0) await platform.call('POST', '/open/sms/send', answer).catch(() => null)
      await new Promise((resolve) => setTimeout(resolve, long ? 40 : 10))
    }
  }
  const answered = new Map<string, string>()
  const answer = async (agent: string) => {
    for (let n = 0; !isOver; n++) {
      const [text, handset] = [`${agent} answers ${n}`, handsets[n % handsets.length] ?? '']
      const { conversation } = await insist('/open/conversations', { number: handset }, `begin ${text}`)
      const body = { channel_uuid: channel, text, anyway: true }
      const { item } = await insist(`/open/conversations/${conversation.uuid}/messages`, body, text)
      answered.set(text, item.uuid)
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
  const writers = handsets.map((_, n) => write(_, n))
  const agents = ['Ruth', 'Linus'].map(answer)
  for (let kill = 1; kill <= kills; kill++) {
    const enough = (texts * kill) / (kills + 1)
    await until(async () => written >= enough)
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
    platform = await startPlatform(platform.home, env)
  }
  await Promise.all(writers)
  isOver = true
  await Promise.all(agents)

  const compare = async () => {
    const conversations = (await readAll('/open/conversations', 'conversations')) as (Item & { counterpart: string })[]
    const differences: string[] = []
    const [shown, all]: [Item[], Item[]] = [[], []]
    for (const { uuid, counterpart } of conversations) {
      // The beginning of a conversation by an agent is an item too.
      const items = (await readAll(`/open/conversations/${uuid}/items`, 'items')).filter(({ kind }) => kind === 'sms')
      const thread = await readAll(`/open/sms/messages/${channel}/${encodeURIComponent(counterpart)}`, 'messages')
      const known = new Set(items.map((item) => item.uuid))
      all.push(...items)
      if (counterpart === handsets[0]) shown.push(...items)
      if (known.size !== items.length) differences.push(`${counterpart}: an item twice`)
      const missing = thread.filter((message) => !known.has(message.uuid))
      if (missing.length > 0 || items.length !== thread.length)
        differences.push(`${counterpart}: ${items.length} items, ${thread.length} messages`)
    }
    return { differences, conversations: conversations.length, all, shown }
  }
  const result = await until(async () => {
    const found = await compare()
    return found.differences.length === 0 && found.conversations === handsets.length ? found : null
  }, 30).catch(compare)
  assert.deepEqual(result.differences, [])
  assert.equal(result.conversations, handsets.length)

  for (const [text, uuid] of answered)
    assert.deepEqual(
      result.all.filter(({ sms }) => sms?.text === text).map((item) => item.uuid),
      [uuid],
      text,
    )
  const sent = (await platform.call('GET', '/open/sms/messages?direction=outbound&page_number=1')).body.total
  assert.equal((before - (await balance())).toFixed(2), (sent * price).toFixed(2))
  if (page) {
    const wanted = result.shown.flatMap(({ sms }) => sms?.text ?? []).toReversed()
    await until(async () => (await textsIn(page)).length >= wanted.length, 30).catch(() => {})
    assert.deepEqual(await textsIn(page), wanted)
    assert.equal(await page.evaluate('window.isSame'), true)
  }
  console.log(
    `kills ${kills}, texts ${written}, answers of agents ${answered.size}, items ${result.all.length}, missing 0, twice 0, ` +
      `charged twice 0${page ? ', the page is equal' : ''}`,
  )
  assert.equal(await platform.end('SIGTERM'), 0)
})
