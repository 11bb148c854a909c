import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isFullForm } from '../needs.ts'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * R1 of the reliability goals: kill -9 of the platform at random instants under load. Half of the clients retry with the
 * same Idempotency-Key until they receive a 202; such messages have jobs of their own. The others send without a key,
 * so their messages share jobs; what they have no answer to may have been accepted. Short form here; `npm run chaos`
 * kills 50 times, or as often as TRUNKLINE_TEST_KILLS says.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const kills = long ? Number(process.env.TRUNKLINE_TEST_KILLS ?? 50) : isFullForm ? 2 : 1
const senders = 6
const handsets = Array.from({ length: 20 }, (_, i) => `+4477009001${String(i).padStart(2, '0')}`).filter(
  (number) => !/000[1-7]$/.test(number),
)
/** Submits that may be in flight when the process is killed: the window of the sandbox's bind. */
const window = 10
const price = 0.04

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = seed
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

let platform: Platform
after(() => platform?.end('SIGKILL'))

test(`every SMS answered 202 reaches the handset over ${kills} kills, and is charged once (seed ${seed})`, async () => {
  platform = await startPlatform(homeOnDisk())
  await platform.call(
    'POST',
    `/operator/accounts/${(await platform.call('GET', '/open/info')).body.account.uuid}/credit`,
    {
      amount: '10000',
    },
  )
  const { number } = await buyNumber(platform)
  const before = Number((await platform.call('GET', '/open/info')).body.balance.amount)

  const accepted = new Map<string, { uuid: string; to: string }>()
  let stopped = false
  let next = 0
  const send = async (_: unknown, sender: number) => {
    const isKeyed = sender % 2 === 0
    while (!stopped) {
      const text = `message ${next++}`
      const to = handsets[next % handsets.length] ?? ''
      const body = { from_number: number, to_number: to, text }
      for (;;) {
        const answer = await platform
          .call('POST', '/open/sms/send', body, isKeyed ? { 'idempotency-key': text } : {})
          .catch(() => null)
        if (answer?.status === 202) {
          accepted.set(text, { uuid: answer.body.message_uuid, to })
          break
        }
        if (answer && answer.status < 500) assert.fail(JSON.stringify(answer))
        await new Promise((resolve) => setTimeout(resolve, 20))
        if (!isKeyed) break
      }
    }
  }
  const load = Array.from({ length: senders }, send)

  for (let kill = 0; kill < kills; kill++) {
    const enough = accepted.size + 20 + Math.floor(chance() * 60)
    await until(async () => accepted.size >= enough)
    await new Promise((resolve) => setTimeout(resolve, chance() * 50))
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
    platform = await startPlatform(platform.home)
  }
  stopped = true
  await Promise.all(load)

  for (const { uuid } of accepted.values()) {
    await until(async () => {
      const { body } = await platform.call('GET', `/open/sms/message/${uuid}`)
      return body.message.status === 'delivered'
    }, 60)
  }

  const countOf = async (more = '') =>
    Number((await platform.call('GET', `/open/sms/messages?direction=outbound&page_number=1${more}`)).body.total)
  const stored = await countOf()
  await until(async () => (await countOf('&status=delivered')) === stored, 60)

  const seen: string[] = []
  for (const handset of handsets) {
    const { sms } = (await platform.call('GET', `/sandbox/handsets/${handset}`)).body
    for (const item of sms) seen.push(item.text)
  }
  const lost = [...accepted.keys()].filter((text) => !seen.includes(text))
  assert.deepEqual(lost, [])
  const twice = seen.length - new Set(seen).size
  assert.ok(twice <= kills * window, `${twice} arrived more than once`)
  const balance = Number((await platform.call('GET', '/open/info')).body.balance.amount)
  assert.equal((before - balance).toFixed(2), (stored * price).toFixed(2))
  console.log(
    `kills ${kills}, accepted ${accepted.size}, stored ${stored}, lost 0, arrived twice ${twice}, double charges 0, seed ${seed}`,
  )
  assert.equal(await platform.end('SIGTERM'), 0)
})
