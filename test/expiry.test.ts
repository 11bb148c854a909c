import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Platform, startPlatform, until } from './platform.ts'

// A reservation ends by the platform's clock, within a second: by itself, when the clock is moved, and after a restart.

let platform: Platform
after(() => platform?.end('SIGKILL'))

const group = 'US-local-213-los-angeles'
const minutes = 30

const reserve = async (): Promise<{ number: string; expires: number }> => {
  const { status, body } = await platform.call('POST', '/open/numbers/reservations', { group_id: group })
  assert.equal(status, 201, JSON.stringify(body))
  const { number, expires_at } = body.data.reservation_details
  return { number, expires: Date.parse(expires_at) }
}
const isListed = async (number: string): Promise<boolean> => {
  const query = `group_id=${group}&number_contains=${number.slice(2)}`
  return (await platform.call('GET', `/open/numbers/available?${query}`)).body.data.numbers.length === 1
}
let offset = 0
/** Moves the platform's clock. */
const advance = async (seconds: number): Promise<void> => {
  const { status } = await platform.call('POST', '/sandbox/clock', { advance_seconds: seconds })
  assert.equal(status, 202)
  offset += seconds * 1000
}
/** The platform's time. */
const now = () => Date.now() + offset

/** Milliseconds from now until the number is on sale again. */
const timeUntilListed = async (number: string): Promise<number> => {
  const began = performance.now()
  await until(() => isListed(number), 5)
  return performance.now() - began
}

/** A busy machine may be late once; the promise is kept when the best of three keeps it. */
const bestOfThree = async (one: () => Promise<number>): Promise<number> =>
  Math.min(await one(), await one(), await one())

test('its time comes: the number is on sale again within a second', async () => {
  platform = await startPlatform()
  const lateness = await bestOfThree(async () => {
    const { number, expires } = await reserve()
    assert.equal(await isListed(number), false)
    await advance(minutes * 60 - 2)
    await until(() => isListed(number), 10)
    return now() - expires
  })
  // Its end is printed in whole seconds, and so up to one too early.
  assert.ok(lateness < 2000, `${Math.round(lateness)} ms`)
})

test('the clock is moved over its end: the number is on sale again within a second', async () => {
  const late = await bestOfThree(async () => {
    const { number } = await reserve()
    await advance(minutes * 60 + 1)
    return timeUntilListed(number)
  })
  assert.ok(late < 1000, `${Math.round(late)} ms`)
  const { reservations } = (await platform.call('GET', '/open/numbers/reservations')).body.data
  assert.deepEqual(reservations, [])
})

test('its time comes while the platform is down: the number is on sale within a second of the next start', async () => {
  const { number } = await reserve()
  const second = await reserve()
  await advance(minutes * 60 - 1)
  // Made later, and so not over yet.
  const young = await reserve()
  assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
  await until(async () => now() > second.expires + 1_000)
  platform = await startPlatform(platform.home)
  const late = Math.max(await timeUntilListed(number), await timeUntilListed(second.number))
  assert.ok(late < 1000, `${Math.round(late)} ms`)
  assert.equal(await isListed(young.number), false)
  await platform.end()
})
