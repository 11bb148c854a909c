import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * Kills the platform while handsets write and the API answers: each conversation then has exactly the messages of its
 * thread. The long form kills 20 times during 500 texts.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const [kills, texts] = long ? [20, 500] : [2, 60]
const handsets = Array.from({ length: 6 }, (_, n) => `+4477009004${String(n + 20)}`)

let platform: Platform
after(() => platform?.end('SIGKILL'))

type Item = { uuid: string }

const readAll = async (path: string, field: string): Promise<Item[]> => {
  const found: Item[] = []
  for (let cursor = ''; ; ) {
    const { body } = await platform.call('GET', `${path}?results_per_page=200${cursor}`)
    found.push(...body[field])
    if (body.next_cursor === undefined) return found
    cursor = `&cursor=${body.next_cursor}`
  }
}

test(`every message is in its conversation once, over ${kills} kills of the platform`, async () => {
  platform = await startPlatform(homeOnDisk())
  const { number, channel } = await buyNumber(platform)
  let written = 0
  const write = async (_: unknown, n: number) => {
    const handset = handsets[n] ?? ''
    while (written < texts) {
      const body = { to: number, text: `text ${written}` }
      const sent = await platform.call('POST', `/sandbox/handsets/${handset}/sms`, body).catch(() => null)
      if (sent && sent.status < 300) written++
      // An answer of the API, which begins no conversation by itself.
      const answer = { from_number: number, to_number: handset, text: 'An answer' }
      if (written % 3 === 0) await platform.call('POST', '/open/sms/send', answer).catch(() => null)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const writers = handsets.map((_, n) => write(_, n))
  for (let kill = 1; kill <= kills; kill++) {
    const enough = (texts * kill) / (kills + 1)
    await until(async () => written >= enough)
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
    platform = await startPlatform(platform.home)
  }
  await Promise.all(writers)

  const compare = async () => {
    const conversations = (await readAll('/open/conversations', 'conversations')) as (Item & { counterpart: string })[]
    const differences: string[] = []
    let count = 0
    for (const { uuid, counterpart } of conversations) {
      const items = (await readAll(`/open/conversations/${uuid}/items`, 'items')).map((item) => item.uuid)
      const thread = await readAll(`/open/sms/messages/${channel}/${encodeURIComponent(counterpart)}`, 'messages')
      const known = new Set(items)
      count += items.length
      if (known.size !== items.length) differences.push(`${counterpart}: an item twice`)
      const missing = thread.filter((message) => !known.has(message.uuid))
      if (missing.length > 0 || items.length !== thread.length)
        differences.push(`${counterpart}: ${items.length} items, ${thread.length} messages`)
    }
    return { differences, conversations: conversations.length, count }
  }
  const result = await until(async () => {
    const found = await compare()
    return found.differences.length === 0 && found.conversations === handsets.length ? found : null
  }, 30).catch(compare)
  assert.deepEqual(result.differences, [])
  assert.equal(result.conversations, handsets.length)
  console.log(`kills ${kills}, texts ${written}, items ${result.count}, missing 0, twice 0`)
  assert.equal(await platform.end('SIGTERM'), 0)
})
