import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'

// Tests a carrier that cuts links, throttles and fails at random. Seed: TRUNKLINE_TEST_SEED.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
/** With seed 253325, messages accepted after a cut overtook those that the worker had claimed but not read yet. */
const cases: readonly { readonly seed: number; readonly name: string }[] = process.env.TRUNKLINE_TEST_SEED
  ? [{ seed: Number(process.env.TRUNKLINE_TEST_SEED), name: 'given' }]
  : [
      { seed: 253_325, name: 'claimed after a cut' },
      { seed: Date.now() % 1_000_000, name: 'random' },
    ]
const each = long ? 400 : 12

/** Returns the numbers of a seed, from 0 up to 1. */
const chances = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const world = await makeSmsWorld()
after(world.stop)

const throttled = 0x58
const systemError = 0x08

for (const { seed, name } of cases)
  test(
    `nothing is lost over a link that flaps, and each number gets its texts in their order (${name}: seed ${seed})`,
    withSmscs(world, 1, async ([smsc]) => {
      assert.ok(smsc)
      const chance = chances(seed)
      const refused = new Set<number>()
      let cuts = 0
      smsc.react = (_, count) => {
        const lot = chance()
        if (lot < 0.92) return 'take'
        if (lot < 0.95) {
          cuts++
          return 'cut'
        }
        refused.add(count)
        return lot < 0.955 ? throttled : systemError
      }
      await world.connect('only', smsc, { window: 5, reconnect_seconds: 1 })
      const who = await world.tenant({ balance: '1000' })
      const { number } = await giveNumber(world, who)
      const contacts = ['+447911000001', '+447911000002', '+447911000003', '+447911000004']
      const sent: string[] = []
      for (let i = 0; i < each; i++)
        for (const to of contacts) sent.push((await world.send(who, number, String(i), { to })).body.message_uuid)
      for (const one of sent) await world.waitForStatus(who, one, 'sent')

      const came = smsc.submits.filter((_, i) => !refused.has(i + 1))
      for (const contact of contacts) {
        const texts = came.filter(({ destination }) => destination === contact).map(({ text }) => text)
        assert.deepEqual(
          [...new Set(texts)],
          Array.from({ length: each }, (_, i) => String(i)),
        )
      }
      const twice = came.length - sent.length
      assert.ok(twice <= cuts * 5, `${twice} came again over ${cuts} cuts of a window of 5`)
      assert.equal(
        (await world.call(who, 'GET', '/open/info')).body.balance.amount,
        (1_000 - sent.length * 0.04).toFixed(2),
      )
    }),
  )
