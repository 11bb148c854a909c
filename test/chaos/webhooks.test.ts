import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseDelivery } from '../../src/domains/webhooks/delivery/delivery-id.ts'
import { Receiver } from '../doubles/receiver.ts'
import { homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'

/**
 * A receiver with outages, and kill -9 of the platform at random instants. Every event whose cause was answered 2xx
 * arrives, in order. Short form here; TRUNKLINE_TEST_LONG=1 kills 30 times.
 */
const kills = process.env.TRUNKLINE_TEST_LONG === '1' ? 30 : 1

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = seed
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

let platform: Platform
const receiver = await new Receiver().up()
after(async () => {
  await platform?.end('SIGKILL')
  await receiver.down()
})

test(`no event is lost or overtakes another over ${kills} kills and a receiver's outages (seed ${seed})`, async () => {
  platform = await startPlatform(homeOnDisk())
  const contact = { first_name: 'Ada', contact_details: [{ type: 'PH', value: '+447700900123' }] }
  assert.equal((await platform.call('POST', '/open/contacts', contact)).status, 201)
  const subscribed = await platform.call('POST', '/open/webhooks/subscribe/contact.created', {
    hook_url: receiver.url('/chaos'),
  })
  const { uuid } = subscribed.body.data

  const caused: string[] = []
  let stopped = false
  const cause = async () => {
    for (let n = 0; !stopped; n++) {
      for (;;) {
        const headers = { 'idempotency-key': `event ${n}` }
        const answer = await platform.call('POST', `/open/webhooks/${uuid}/test`, undefined, headers).catch(() => null)
        if (answer?.status === 202) {
          caused.push(parseDelivery(answer.body.delivery_id)?.event ?? '')
          break
        }
        if (answer && answer.status < 500) assert.fail(JSON.stringify(answer))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const load = cause()

  for (let kill = 0; kill < kills; kill++) {
    const enough = caused.length + 20 + Math.floor(chance() * 40)
    await until(async () => caused.length >= enough)
    await receiver.down()
    await until(async () => caused.length >= enough + 20)
    if (chance() < 0.5) await receiver.up()
    await new Promise((resolve) => setTimeout(resolve, chance() * 50))
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
    platform = await startPlatform(platform.home)
    await receiver.down()
    await receiver.up()
  }
  stopped = true
  await load

  const arrived = () => [...new Set(receiver.of('/chaos').map(({ id }) => id.slice(3)))]
  await until(async () => {
    if (arrived().length >= caused.length) return true
    // Make every pending retry due.
    await platform.call('POST', '/sandbox/clock', { advance_seconds: 400 })
    return false
  }, 60)
  assert.deepEqual(
    caused.filter((event) => !arrived().includes(event)),
    [],
  )
  assert.deepEqual(arrived(), [...arrived()].sort())
  const twice = receiver.of('/chaos').length - arrived().length
  console.log(`kills ${kills}, events ${caused.length}, lost 0, arrived twice ${twice}, seed ${seed}`)
  assert.equal(await platform.end('SIGTERM'), 0)
})
