import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bind, home, idOf, kill, ours, sms, start, submitAll } from '../test/simulator.ts'

const line = '+447911120001'
const long = `${'я'.repeat(100)}😀${'ю'.repeat(40)}`

for (const mode of ['udh8', 'udh16', 'sar', 'payload'] as const) {
  test(`what is sent to a number of the platform comes back to it, in the mode ${mode}, also after a restart`, async (t) => {
    const path = await home(t)
    const before = await start(t, path)
    await before.call('PUT', '/lines', { lines: { [line]: true, '+447911120009': true } })
    await before.call('PUT', '/lines', { lines: { '+447911120009': false } })
    await kill(before)
    const simulator = await start(t, path)
    const platform = await bind(t, simulator.smppPort, { long: mode })
    for (const text of ['Hi {€}', long]) {
      platform.inbound.length = 0
      platform.receipts.length = 0
      const results = await submitAll(platform, line, text, mode)
      results.map(idOf)
      const whole = () => platform.inbound.map((part) => part.text).join('') === text
      await platform.until(() => {
        platform.inbound.sort((a, b) => (a.concat?.part ?? 0) - (b.concat?.part ?? 0))
        return whole() && platform.receipts.length === results.length
      })
      assert.ok(platform.inbound.every(({ source, destination }) => source === ours && destination === line))
      // The number is no handset, so its last digits mean nothing.
      assert.ok(platform.receipts.every(({ state }) => state === 'DELIVERED'))
    }
    assert.deepEqual(await sms(simulator, line), [])
    idOf((await submitAll(platform, '+447911120009', 'Hello'))[0])
    assert.equal((await sms(simulator, '+447911120009')).length, 1)
  })
}
