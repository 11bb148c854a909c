import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DigestServer } from '../digest/digest-server.ts'
import { cseqOf, expiresOf } from '../fields.ts'
import { header, type SipRequest } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import { Registration, type RegistrationState } from './registration.ts'
import { defaultHandlers, ManualTimers, openAgent, until } from './testing.ts'

/** A registrar that asks for a password, with the requests it received. */
const open = async (t: TestContext, answer: (request: SipRequest) => ResponseOptions) => {
  const timers = new ManualTimers()
  const digest = new DigestServer({ realm: 'carrier.test', secret: 's', now: () => timers.now() })
  const good: SipRequest[] = []
  const all: SipRequest[] = []
  const registrar = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onRegister: (request) => {
        all.push(request)
        const claim = digest.claim(request)
        const verdict = claim && digest.verify(request, claim, 'pass')
        if (verdict !== 'good') {
          const challenge = digest.challenge(verdict === 'stale').map((value) => ['WWW-Authenticate', value] as const)
          return { status: 401, headers: challenge }
        }
        good.push(request)
        return answer(request)
      },
    },
  })
  const { agent } = await openAgent(t, { timers })
  const states: RegistrationState[] = []
  const register = (password: string) =>
    new Registration(agent, {
      ...{ registrar: `sip:127.0.0.1:${registrar.udp}`, address: '<sip:ann@carrier.test>', seconds: 300 },
      ...{ credentials: { username: 'ann', password }, changed: (state: RegistrationState) => void states.push(state) },
    })
  return { timers, good, all, states, register }
}

const granted = (request: SipRequest, seconds: number): ResponseOptions => ({
  status: 200,
  headers: [['Contact', `<sip:other@192.0.2.1>;expires=9, ${header(request, 'Contact')};expires=${seconds}`]],
})

test('a registration is refreshed in time without a new challenge, and removed on stop', async (t) => {
  const { timers, good, all, states, register } = await open(t, (request) => granted(request, 100))
  const registration = register('pass')
  await until(() => states.at(-1)?.state === 'registered')
  assert.deepEqual(states.at(-1), { state: 'registered', seconds: 100, routes: [] })
  assert.deepEqual([good.length, all.length], [1, 2])
  timers.advance(79_000)
  assert.equal(good.length, 1)
  timers.advance(1_000)
  await until(() => states.length === 3)
  assert.deepEqual([good.length, all.length], [2, 3])
  await registration.stop()
  assert.deepEqual(states.at(-1), { state: 'ended' })
  assert.deepEqual(
    good.map((request) => expiresOf(request)),
    [300, 300, 0],
  )
  assert.equal(new Set(all.map((request) => header(request, 'Call-ID'))).size, 1)
  const numbers = all.map((request) => cseqOf(request).number)
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})

test('a wrong password is reported and retried with growing delays', async (t) => {
  const { timers, all, states, register } = await open(t, (request) => granted(request, 100))
  const registration = register('wrong')
  for (const retrySeconds of [30, 60, 120]) {
    await until(() => states.at(-1)?.state === 'refused')
    assert.deepEqual(states.pop(), { state: 'refused', reason: '401 Unauthorized', retrySeconds })
    timers.advance(retrySeconds * 1_000)
  }
  assert.ok(all.length <= 10)
  await registration.stop()
})

test('an interval that is too brief is lengthened to the minimum of the registrar', async (t) => {
  const { good, states, register } = await open(t, (request) =>
    expiresOf(request) === 300 ? { status: 423, headers: [['Min-Expires', '1000']] } : granted(request, 1_000),
  )
  register('pass')
  await until(() => states.at(-1)?.state === 'registered')
  assert.deepEqual(
    good.map((request) => expiresOf(request)),
    [300, 1_000],
  )
})
