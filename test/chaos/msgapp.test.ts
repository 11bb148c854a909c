import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * Kill -9 of the platform at random instants while messages are sent and received on the messaging app. Clients retry
 * with the same Idempotency-Key until they receive a 202. The network and the platform hold each message exactly once.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const kills = long ? 30 : 1
const handsets = Array.from({ length: 8 }, (_, i) => `+4477009002${String(10 + i)}`)

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = seed
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

let platform: Platform
after(() => platform?.end('SIGKILL'))

type ApiMessage = { uuid: string; wa_msg_ack: number; sent_by: string; message: { text: string } }

/** All messages of a number. */
const all = async (number: string): Promise<ApiMessage[]> => {
  const found: ApiMessage[] = []
  for (let cursor = ''; ; ) {
    const { body } = await platform.call('GET', `/open/msgapp/messages/${number}?per_page=200${cursor}`)
    found.push(...body.messages)
    if (body.next_cursor === undefined) return found
    cursor = `&cursor=${body.next_cursor}`
  }
}

const texts = (shown: readonly ApiMessage[], sentBy: string) =>
  shown.filter(({ sent_by }) => sent_by === sentBy).map(({ message }) => message.text)

test(`no message is lost or doubled over ${kills} kills, either way (seed ${seed})`, async () => {
  platform = await startPlatform(homeOnDisk())
  const [{ phone_number: number }] = (await platform.call('GET', '/open/msgapp/get-numbers')).body.numbers
  const out = new Set<string>()
  const back = new Set<string>()
  let stopped = false
  let next = 0
  const repeat = async (
    kept: Set<string>,
    path: (handset: string) => string,
    body: (text: string, handset: string) => object,
  ) => {
    while (!stopped) {
      const n = next++
      const [text, handset] = [`message ${n}`, handsets[n % handsets.length] ?? '']
      for (;;) {
        const answer = await platform
          .call('POST', path(handset), body(text, handset), { 'idempotency-key': text })
          .catch(() => null)
        if (answer?.status === 202) {
          kept.add(text)
          break
        }
        if (answer && answer.status < 500) assert.fail(JSON.stringify(answer))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const send = () =>
    repeat(
      out,
      () => '/open/msgapp/send-message',
      (text, to_number) => ({ from_number: number, to_number, text }),
    )
  // No handset request is repeated: the handset would write twice.
  const write = async () => {
    while (!stopped) {
      const n = next++
      const text = `message ${n}`
      const answer = await platform
        .call('POST', `/sandbox/handsets/${handsets[n % handsets.length]}/msgapp`, { to: number, text })
        .catch(() => null)
      if (answer?.status === 202) back.add(text)
      else await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const load = [send(), send(), send(), write(), write()]
  for (let kill = 0; kill < kills; kill++) {
    const [sent, written] = [out.size + 15 + chance() * 40, back.size + 10]
    await until(async () => out.size >= sent && back.size >= written, 60)
    await new Promise((resolve) => setTimeout(resolve, chance() * 50))
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
    platform = await startPlatform(platform.home)
  }
  stopped = true
  await Promise.all(load)

  const shown = await until(async () => {
    const list = await all(number)
    const came = new Set(texts(list, 'user'))
    const isReceived = list.every(({ sent_by, wa_msg_ack }) => sent_by !== 'api' || wa_msg_ack >= 2)
    return isReceived && [...back].every((text) => came.has(text)) && list
  }, 90)
  const [sent, received] = [texts(shown, 'api'), texts(shown, 'user')]
  assert.equal(sent.length, new Set(sent).size, 'a message was accepted twice')
  assert.deepEqual(
    [...out].filter((text) => !sent.includes(text)),
    [],
  )
  assert.equal(received.length, new Set(received).size, 'a message was received twice')
  assert.deepEqual(texts(shown, 'agent'), [], 'our own messages came back as those of another device')

  const seen: string[] = []
  for (const handset of handsets) {
    const { msgapp } = (await platform.call('GET', `/sandbox/handsets/${handset}`)).body
    for (const item of msgapp) if (item.direction === 'inbound') seen.push(item.text)
  }
  assert.deepEqual(
    [...out].filter((text) => !seen.includes(text)),
    [],
    'the handsets have every message',
  )
  assert.equal(seen.length, new Set(seen).size, 'each handset has each message once')
  console.log(`kills ${kills}, sent ${out.size}, received ${received.length}, lost 0, doubled 0, seed ${seed}`)
  assert.equal(await platform.end('SIGTERM'), 0)
})
