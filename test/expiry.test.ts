import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Platform, startPlatform, until } from './platform.ts'

// A reservation expires by the platform's clock, within a second: in time, when the clock is moved, and after a
// restart.

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

/**
 * Waits until the number is on sale again.
 * @returns the last time, by `clock`, at which it was not. A late answer of a busy machine thus does not count as
 * lateness
 */
const lastMissing = async (number: string, clock: () => number): Promise<number> => {
  let last = clock()
  await until(async () => {
    const asked = clock()
    if (await isListed(number)) return true
    last = asked
    return false
  })
  return last
}

/** Milliseconds from now until the number was last seen reserved. */
const timeUntilListed = async (number: string): Promise<number> => {
  const began = performance.now()
  return (await lastMissing(number, () => performance.now())) - began
}

test('an expired reservation puts the number on sale again within a second', async () => {
  platform = await startPlatform()
  for (let i = 0; i < 3; i++) {
    const { number, expires } = await reserve()
    assert.equal(await isListed(number), false)
    await advance(minutes * 60 - 2)
    // The expiry is printed in whole seconds, so it may be up to one second early.
    const late = (await lastMissing(number, now)) - expires
    assert.ok(late < 2000, `${Math.round(late)} ms`)
  }
})

test('a clock moved past the expiry puts the number on sale again within a second', async () => {
  for (let i = 0; i < 3; i++) {
    const { number } = await reserve()
    await advance(minutes * 60 + 1)
    const late = await timeUntilListed(number)
    assert.ok(late < 1000, `${Math.round(late)} ms`)
  }
  const { reservations } = (await platform.call('GET', '/open/numbers/reservations')).body.data
  assert.deepEqual(reservations, [])
})

test('a reservation that expires during downtime ends within a second of the next start', async () => {
  const { number } = await reserve()
  const second = await reserve()
  await advance(minutes * 60 - 1)
  // The second reservation was made later and has not expired.
  const young = await reserve()
  assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
  await until(async () => now() > second.expires + 1_000)
  platform = await startPlatform(platform.home)
  const late = Math.max(await timeUntilListed(number), await timeUntilListed(second.number))
  assert.ok(late < 1000, `${Math.round(late)} ms`)
  assert.equal(await isListed(young.number), false)
  await platform.end()
})
