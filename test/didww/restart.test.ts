import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { longForm } from '../needs.ts'
import { homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'
import { startSupplier } from './simulated-supplier.ts'

// The whole program, killed with SIGKILL while a number is bought from a supplier, and restarted on the same home.

const supplier = await startSupplier('--complete-ms', '50')
const home = homeOnDisk()
let platform: Platform = await startPlatform(home)
after(() => platform.end())

const requestCount = async (method: string, path: string) =>
  (await supplier.log()).filter((one) => one.method === method && one.path.startsWith(path)).length

/** The state of the purchase when the program is killed, and the fault that holds it there. */
const moments = {
  'before the order could be sent': () => supplier.fault('too-many', { method: 'POST', path: '/orders', times: 1000 }),
  'while the order is on its way': () => supplier.fault('slow', { method: 'POST', path: '/orders', ms: 1500 }),
  'after the answer to the order was lost': () => supplier.fault('lose-answer', { method: 'POST', path: '/orders' }),
  'while the order is pending': () => supplier.fault('hold-order', { times: 1_000_000 }),
  'while the delivery is asked for': () => supplier.fault('slow', { method: 'GET', path: '/dids', ms: 1500 }),
}
const shortForm = ['while the order is on its way', 'while the order is pending']

const number = async (uuid: string) => (await platform.call('GET', `/open/voip/virtual-numbers/${uuid}`)).body.number
const balance = async () => Number((await platform.call('GET', '/open/info')).body.balance.amount)

test('a supplier is connected', async () => {
  const body = { kind: 'didww', name: 'Elsewhere', settings: { ...supplier.settings, countries: ['DE', 'GB'] } }
  assert.equal((await platform.call('POST', '/operator/connections', body)).status, 201)
  await until(async () => (await requestCount('GET', '/did_groups')) > 0)
})

for (const [moment, keep] of Object.entries(moments)) {
  const form = longForm(shortForm.includes(moment))
  test(
    `a purchase killed ${moment} continues after the next start: one order, one number, one charge`,
    form,
    async () => {
      const find = async () => {
        const { groups } = (await platform.call('GET', '/open/numbers/groups?country=GB&city_name_or_prefix=161')).body
          .data
        return groups.find((one: { id: string }) => /-[0-9a-f]{16}$/.test(one.id))
      }
      const group = await until(find)
      const [orders, dids, money] = [
        await requestCount('POST', '/orders'),
        await requestCount('GET', '/dids'),
        await balance(),
      ]
      await keep()
      const bought = await platform.call('POST', '/open/numbers/purchase', { group_id: group.id })
      assert.equal(bought.status, 201, JSON.stringify(bought.body))
      const [{ uuid }] = bought.body.data.numbers
      await until(async () =>
        moment === 'while the delivery is asked for'
          ? (await requestCount('GET', '/dids')) > dids
          : (await requestCount('POST', '/orders')) > orders,
      )
      if (moment === 'while the order is pending') await until(async () => (await requestCount('GET', '/orders/')) > 0)
      await platform.end('SIGKILL')
      const sent = await requestCount('POST', '/orders')
      await supplier.clearFaults()
      platform = await startPlatform(home)
      // The search for a lost order runs at most once a minute, so the clock is moved.
      const then = await until(async () => {
        const now = await number(uuid)
        if (now.status_text === 'ACTIVE') return now
        await platform.call('POST', '/sandbox/clock', { advance_seconds: 30 })
        return null
      }, 30)
      assert.equal(then.status_text, 'ACTIVE')
      const refused = moment === 'before the order could be sent'
      assert.equal((await requestCount('POST', '/orders')) - (refused ? sent : orders), 1)
      assert.equal(Math.round((money - (await balance())) * 100), 120)
    },
  )
}
