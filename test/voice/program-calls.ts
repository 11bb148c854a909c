import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { answer, closedAfter, mediaFlow, type openCarrier } from '../../src/adapters/sip-gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { buyNumber, type Platform, until } from '../platform.ts'
import { type BrowserUser, openBrowserUser, openTenant } from './voice-fixture.ts'

// Calls of programs with what they dialled, for tests of how both end.

export type Carrier = Awaited<ReturnType<typeof openCarrier>>

export type Cdr = {
  readonly uuid: string
  readonly active: boolean
  readonly status: string
  readonly end_reason: string
  readonly duration: number
  readonly call_cost: { readonly duration: number; readonly call_price: number }
}

/** USD for each minute of a call to the carrier, and the digits that its numbers begin with. */
export const [rate, prefix] = [0.012, '44207946']

/** The calls of the account, newest first. */
export const history = async (of: Platform): Promise<Cdr[]> =>
  (await of.call('GET', '/open/voip/call-history')).body.cdrs

export const operate = async ({ call }: Platform, method: string, path: string, body?: object) => {
  const answered = await call(method, `/operator/${path}`, body)
  assert.ok(answered.status < 300, JSON.stringify(answered.body))
}

export const dialling = (to: string) => ({ verb: 'dial', targets: [{ number: to }], timeout: 60 })

export const telephoneOf = (t: TestContext) => closedAfter(t, makeTelephone())

/** An account whose call by the API talks with a telephone that its program dialled. @param n tells its numbers from others
 *  @param keyLimit USD that the key may spend which makes the call; absent: no limit */
export const connectProgram = async (
  t: TestContext,
  platform: Platform,
  carrier: Carrier,
  n: number,
  isToUser = false,
  keyLimit?: number,
) => {
  const { tenant, user } = await openTenant(platform)
  const { number: from_number } = await buyNumber(tenant)
  const info = async () => (await tenant.call('GET', '/open/info')).body
  const account: string = (await info()).account.uuid
  const balance = async () => Number((await info()).balance.amount)
  let before = await balance()
  const [first, second] = [`+${prefix}0${n}01`, `+${prefix}0${n}02`]
  const atCarrier = async (to: string) => {
    const invited = await until(async () => {
      const place = carrier.calls.findIndex(({ invite }) => invite.uri.includes(to))
      return place >= 0 && carrier.calls.splice(place, 1)[0]
    })
    const peer = await telephoneOf(t)
    return { peer, ...(await answer(invited, peer)) }
  }
  const inBrowser = async ({ web, softphone }: BrowserUser) => {
    const peer = await softphone()
    const answered = await answer(await until(async () => web.calls.shift()), peer)
    await mediaFlow(peer)
    return { peer, ...answered }
  }
  const person = isToUser ? await openBrowserUser(t, tenant, user) : null
  if (person) assert.match(await person.register(), /^200/)
  const order = {
    from_number,
    to: person ? user : first,
    verbs: [dialling(second), { verb: 'play', tone: { hertz: [440], on_ms: 60_000 } }],
  }
  const own = { label: 'limited', spend_per_day: keyLimit?.toFixed(6) }
  const { key } = keyLimit === undefined ? {} : (await tenant.call('POST', '/open/keys', own)).body
  const made = await tenant.call('POST', '/open/voip/calls', order, key ? { 'x-user-api-key': key } : {})
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const party = person ? await inBrowser(person) : await atCarrier(first)
  const dialled = await atCarrier(second)
  await until(async () => {
    const cdrs = await history(tenant)
    return cdrs.length === 2 && cdrs.every(({ status }) => status === 'ANSWERED')
  })
  /** Leaves the account this much besides what it holds for its calls. */
  const leave = async (amount: number) => {
    const debit = (await balance()) - amount
    await operate(platform, 'POST', `accounts/${account}/debit`, { amount: debit.toFixed(6), reason: 'test' })
    before -= debit
  }
  /** Waits until each side of both calls had a BYE. @returns the milliseconds */
  const hungUp = async () => {
    const began = performance.now()
    await until(async () => party.ends.length > 0 && dialled.ends.length > 0)
    assert.deepEqual([party.ends, dialled.ends], [['remote'], ['remote']])
    return performance.now() - began
  }
  /** The records of both calls, and what they cost. */
  const recorded = async (reason: string, minutes: number) => {
    const cdrs = await until(async () => {
      const found = await history(tenant)
      return found.every(({ active }) => !active) && found
    })
    const leg = ['COMPLETED', reason, minutes * 60, minutes * rate]
    assert.deepEqual(
      cdrs.map(({ status, end_reason, call_cost }) => [status, end_reason, call_cost.duration, call_cost.call_price]),
      // The child is the newer one. A call to a user costs nothing.
      [leg, person ? ['COMPLETED', reason, 0, 0] : leg],
    )
    const cost = (person ? 1 : 2) * minutes * rate
    assert.ok(Math.abs(before - cost - (await balance())) < 1e-9, `${before} to ${await balance()}`)
  }
  const id: string = made.body.cdr.uuid
  return {
    tenant,
    user,
    account,
    id,
    party,
    dialled,
    leave,
    hungUp,
    recorded,
    spent: async () => before - (await balance()),
  }
}
