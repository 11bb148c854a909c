import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { answer, dial, receivesTone, sdp } from '../../src/adapters/sip-gateway/testing.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import {
  activeUsers,
  endedCall,
  freePortSettings,
  makeCaller,
  openBrowserUser,
  openTenant,
  secondsOf,
} from './voice-fixture.ts'

// Calls from the sandbox's trunk to a browser.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const [ada = '', grace = ''] = await activeUsers(platform)
const { number } = await buyNumber(platform)
const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
const path = `/open/voip/virtual-numbers/${numbers[0].uuid}`
assert.equal((await platform.call('PUT', path, { inbound_user_uuid: ada, record_inbound: false })).status, 200)

const handset = '+447700901240'
const { ring, seen, ended } = makeCaller(platform, handset, number)

test('once the platform is ready it has registered with the sandbox’s trunk', async () => {
  const { connections } = (await platform.call('GET', '/operator/connections')).body
  const { state } = connections.find(({ name }: { name: string }) => name === 'sandbox-trunk')
  assert.deepEqual([state.state, state.registered], ['up', true])
})

test('a call to an unregistered user does not ring: the handset receives 480, and the call is missed', async () => {
  const call = await ended(await ring())
  assert.deepEqual([call.state, call.status], ['no_answer', 480])
  const cdr = await endedCall(platform)
  assert.deepEqual([cdr.direction, cdr.status, cdr.duration, cdr.from], ['I', 'MISSED', 0, handset])
  assert.equal(call.uuid, cdr.uuid)
})

test('a handset calls the browser of the number’s user alone: both hear each other, and keys arrive', async (t) => {
  const [person, other] = [await openBrowserUser(t, platform, ada), await openBrowserUser(t, platform, grace)]
  for (const one of [person, other]) assert.match(await one.register(), /^200/)
  const id = await ring({ digits: '159#' })
  const call = await until(async () => person.web.calls.shift())
  assert.match(call.invite.headers.find(([name]) => name === 'From')?.[1] ?? '', /\+?447700901240@/)
  call.ring({ status: 180 })
  const softphone = await person.softphone()
  const { session, ends } = await answer(call, softphone)
  softphone.sendTone(1_000)
  await receivesTone(softphone, 620)
  await until(async () => secondsOf((await seen(id)).tones, 1_000) > 1)
  await until(async () => softphone.digits === '159#')
  assert.equal(other.web.calls.length, 0)
  assert.equal((await platform.call('POST', `/sandbox/handsets/${handset}/calls/${id}/hang-up`)).status, 202)
  await until(async () => ends.length === 1)
  assert.deepEqual(ends, ['remote'])
  assert.equal(session.isEnded, true)
  assert.equal((await ended(id)).state, 'completed')
  const cdr = await endedCall(platform, 2)
  assert.deepEqual(
    [cdr.direction, cdr.status, cdr.from, cdr.to_number, cdr.agent_id, cdr.is_sip_trunk_call],
    ['I', 'COMPLETED', handset, number, ada, true],
  )
  assert.ok(cdr.duration >= 2)
})

test('a busy browser reports busy to the handset', async (t) => {
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const id = await ring()
  const call = await until(async () => person.web.calls.shift())
  call.refuse({ status: 486 })
  assert.deepEqual([(await ended(id)).state, (await ended(id)).status], ['busy', 486])
  assert.equal((await endedCall(platform, 3)).status, 'BUSY')
})

test('a call to a number of another account leaves over the trunk and returns: two calls, each with its record', async (t) => {
  const { tenant, user } = await openTenant(platform)
  const { number: theirs } = await buyNumber(tenant)
  const { numbers } = (await tenant.call('GET', '/open/voip/virtual-numbers')).body
  await tenant.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: user })
  const [person, other] = [await openBrowserUser(t, platform, ada), await openBrowserUser(t, tenant, user)]
  for (const one of [person, other]) assert.match(await one.register(), /^200/)

  const offers: string[] = []
  // Until the carrier knows the number as ours, one of its own handsets answers.
  const softphone = await until(async () => {
    const own = await person.softphone()
    const { dialled, call: made } = await dial(person.web, person.dialOptions(theirs, number), own, {
      offered: async ({ body }) => {
        offers.push(/a=(send\w+|recv\w+|inactive)/.exec(body.toString())?.[1] ?? '')
        return { status: 200, body: sdp(await own.answer(body.toString())) }
      },
    })
    const rings = await until(async () => other.web.calls[0] ?? dialled.session ?? dialled.refused[0])
    if (rings === other.web.calls[0]) return own
    made.cancel()
    await dialled.session?.bye()
    return false
  })
  const call = other.web.calls.shift()
  assert.ok(call)
  assert.match(call.invite.headers.find(([name]) => name === 'From')?.[1] ?? '', new RegExp(`\\${number}@`))
  const far = await other.softphone()
  const { session } = await answer(call, far)
  softphone.sendTone(1_000)
  far.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(far, 1_000)])
  for (const direction of ['sendonly', 'sendrecv'] as const) {
    far.direct(direction)
    const outcome = await session.reinvite({ body: sdp(await far.offer()) })
    assert.ok(outcome?.outcome === 'answered' && outcome.response.status === 200)
    await far.accept(outcome.response.body.toString())
    await until(async () => offers.at(-1) === direction)
  }
  await receivesTone(softphone, 620)
  await session.bye()
  const [out, back] = [await endedCall(platform, 4), await endedCall(tenant)]
  assert.deepEqual([out.direction, out.status, out.to_number], ['O', 'COMPLETED', theirs])
  assert.deepEqual([back.direction, back.status, back.from, back.to_number], ['I', 'COMPLETED', number, theirs])
})
