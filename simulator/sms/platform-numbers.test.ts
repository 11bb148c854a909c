import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bindSession,
  carrierIdOf,
  handsetMessages,
  killSimulator,
  makeSimulatorHome,
  ownNumber,
  startSimulator,
  submitAll,
} from '../../test/simulator.ts'

const line = '+447911120001'
const long = `${'я'.repeat(100)}😀${'ю'.repeat(40)}`

for (const mode of ['udh8', 'udh16', 'sar', 'payload'] as const) {
  test(`a message to a platform number returns to the platform in mode ${mode}, also after a restart`, async (t) => {
    const path = await makeSimulatorHome(t)
    const before = await startSimulator(t, path)
    await before.call('PUT', '/lines', { lines: { [line]: true, '+447911120009': true } })
    await before.call('PUT', '/lines', { lines: { '+447911120009': false } })
    await killSimulator(before)
    const simulator = await startSimulator(t, path)
    const platform = await bindSession(t, simulator.smppPort, { long: mode })
    for (const text of ['Hi {€}', long]) {
      platform.inbound.length = 0
      platform.receipts.length = 0
      const results = await submitAll(platform, line, text, mode)
      results.map(carrierIdOf)
      const whole = () => platform.inbound.map((part) => part.text).join('') === text
      await platform.until(() => {
        platform.inbound.sort((a, b) => (a.concat?.part ?? 0) - (b.concat?.part ?? 0))
        return whole() && platform.receipts.length === results.length
      })
      assert.ok(platform.inbound.every(({ source, destination }) => source === ownNumber && destination === line))
      // The number is not a handset, so its last digits have no meaning.
      assert.ok(platform.receipts.every(({ state }) => state === 'delivered'))
    }
    assert.deepEqual(await handsetMessages(simulator, line), [])
    carrierIdOf((await submitAll(platform, '+447911120009', 'Hello'))[0])
    assert.equal((await handsetMessages(simulator, '+447911120009')).length, 1)
  })
}
