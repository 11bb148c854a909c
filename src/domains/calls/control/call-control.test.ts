import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import type { VoiceTarget } from '../../../ports/voice.ts'
import { makeCallControl } from './call-control.ts'

const world = await makeWorld()
const { db, call, tenant, parts } = world
const callControlAt = (mediaStore: string | null, callsPerMinute = parts.config.callsPerMinute) =>
  makeCallControl({
    ...{
      db,
      sandboxAccounts: parts.sandboxAccounts,
      seal: parts.seal,
      prices: parts.prices,
      quotas: parts.quotas,
      log: pino({ level: 'silent' }),
      linkOf: () => '',
      urlOfRecording: () => '',
      callPrograms: parts.callPrograms,
      epoch: 1,
    },
    config: { ...parts.config, mediaStore, callsPerMinute },
    hangUp: () => {},
    trunks: () => [],
  })
const callControl = callControlAt(null)

const addUser = async (who: Tenant): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: `${crypto.randomUUID()}@example.com` }
  return (await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body.user.uuid
}

/** Registers as a user's device, with credentials valid for `seconds`. */
const register = async (user: string, seconds = 60) => {
  const username = `${Math.floor(Date.now() / 1_000) + seconds}:${user}`
  const password = (await callControl.password(username)) ?? ''
  return await callControl.admit({ username, password, identity: user, generation: null })
}

test('a registered user is tracked until the credentials end, even while suspended, as a registration may be in progress', async () => {
  const user = await addUser(await tenant())
  const isPresent = () => callControl.registeredUsers().some((person) => person.user === user.slice(3))
  assert.ok('value' in (await register(user, 2)))
  await call('operator', 'PATCH', `/operator/users/${user}`, { status: 'SUSPENDED' })
  assert.ok('refused' in (await register(user, 2)))
  assert.ok(isPresent())
  await until(async () => !isPresent())
})

const colleagues = async () => {
  const who = await tenant({ balance: '10' })
  const [ada, grace] = [await addUser(who), await addUser(who)]
  const newest = async () => (await call(who, 'GET', '/open/voip/call-history')).body.cdrs[0]
  const request = { person: { account: who.id, user: ada.slice(3) }, to: grace, from: null, headers: {} }
  return { who, ada, grace, newest, request }
}

test('a user of a blocked account can neither register nor call, nor be called', async () => {
  const { who, grace, newest, request } = await colleagues()
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at, inbound_user_id)
    values (${who.id}, gen_random_uuid(), '+441632960222', 'x', 'GB', '', 'local', 'x', 0, 0, 'ACTIVE', 'infinity',
      ${grace.slice(3)})`
  const came = {
    trunk: 'x',
    from: '+447700900123',
    to: '+441632960222',
    name: null,
    isFull: false,
    asserted: null,
    divertedFrom: null,
  }
  const inbound = { ...came, verstat: null, npdi: false, rn: null }
  const rings = async (callId: string) => {
    const received = await callControl.receiveCall({ ...inbound, callId })
    return 'value' in received && received.value.targets.length > 0
  }
  assert.ok('value' in (await register(grace)))
  assert.ok('value' in (await callControl.placeCall({ ...request, callId: 'before' })))
  assert.equal(await rings('before-in'), true)
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { blocked: true })
  assert.deepEqual(await register(grace), {
    refused: { status: 403, reason: 'The user is not active, or the account is blocked' },
  })
  assert.equal(await rings('after-in'), false)
  const placed = await callControl.placeCall({ ...request, callId: 'after' })
  assert.ok('refused' in placed && placed.refused.status === 403, JSON.stringify(placed))
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { blocked: false })
  assert.deepEqual([(await newest()).callid, (await newest()).end_reason], ['after', 'user_inactive'])
  assert.ok('value' in (await register(grace)))
})

test('an inbound call that the platform itself answers names no user', async () => {
  const { who, grace, newest } = await colleagues()
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at, inbound_user_id)
    values (${who.id}, gen_random_uuid(), '+441632960333', 'x', 'GB', '', 'local', 'x', 0, 0, 'ACTIVE', 'infinity',
      ${grace.slice(3)})`
  const parties = { from: '+447700900123', to: '+441632960333', name: null, asserted: null, divertedFrom: null }
  const inbound = { trunk: 'x', ...parties, isFull: false, verstat: null, npdi: false, rn: null }
  assert.ok('value' in (await register(grace)))
  const answeredBy = async (callId: string, by: VoiceTarget | null) => {
    const received = await callControl.receiveCall({ ...inbound, callId })
    assert.ok('value' in received, JSON.stringify(received))
    assert.deepEqual(await callControl.answered(received.value.call, by, []), { value: null })
    const { status, agent_id } = await newest()
    return [status, agent_id]
  }
  assert.deepEqual(await answeredBy('itself', null), ['ANSWERED', undefined])
  const person = { account: who.id, user: grace.slice(3) }
  assert.deepEqual(await answeredBy('person', { people: [person] }), ['ANSWERED', grace])
})

test('a colleague sees the user who calls, unless the caller requests a number of the account', async () => {
  const { who, ada, request } = await colleagues()
  await db.run`
    insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${who.id}, gen_random_uuid(), '+447911123456', 'x', 'GB', 'CI', true)`
  const shown = async (from: string | null) => {
    const placed = await callControl.placeCall({ ...request, callId: String(from), from })
    return 'value' in placed && placed.value.callerId
  }
  assert.deepEqual([await shown(null), await shown('+447911123456')], [ada, '+447911123456'])
})

test('an attempt with arbitrary content gets a CDR with bounded fields', async () => {
  const { request, newest } = await colleagues()
  const placed = await callControl.placeCall({ ...request, callId: `a\0${'b'.repeat(70_000)}`, to: '+44\0\ud800' })
  assert.ok('refused' in placed)
  const { callid, to_number, end_reason } = await newest()
  assert.deepEqual([callid.length, to_number, end_reason], [255, '+44\ufffd\ufffd', 'not_e164'])
})

test('a call is admitted even if its recording cannot be made', async () => {
  const { request, newest } = await colleagues()
  const record = { 'X-Record': 'true' }
  const placed = await callControlAt('/dev/null').placeCall({ ...request, callId: 'recorded', headers: record })
  assert.ok('value' in placed && placed.value.record === null)
  assert.equal((await newest()).status, 'RINGING')
})

test('a call of an account without free storage is admitted without a recording', async () => {
  const { who, request, newest } = await colleagues()
  await db.run`insert into stored_bytes (account_id, slot, bytes) values (${who.id}, 0, ${50 * 1024 ** 3})`
  const place = async (callId: string) => {
    const placed = await callControlAt(temporaryFolder()).placeCall({
      ...request,
      callId,
      headers: { 'X-Record': 'true' },
    })
    return 'value' in placed && placed.value.record !== null
  }
  assert.equal(await place('full'), false)
  assert.equal((await newest()).status, 'RINGING')
  await db.run`update stored_bytes set bytes = bytes - 1 where account_id = ${who.id}`
  assert.equal(await place('room'), true)
})

test('an inbound call to a trunk without a free channel is refused and gets a CDR', async () => {
  const who = await tenant()
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${who.id}, gen_random_uuid(), '+441632960111', 'x', 'GB', '', 'local', 'x', 0, 0, 'ACTIVE', 'infinity')`
  const parties = { from: '+447700900123', to: '+441632960111', name: null }
  const verified = { verstat: 'TN-Validation-Passed', npdi: true, rn: '+441632960001' }
  const unknown = { asserted: null, divertedFrom: null }
  const came = { trunk: 'x', callId: 'a', ...parties, ...verified, ...unknown, isFull: true }
  const strict = callControlAt(null, 5)
  const come = async (more = {}) => {
    const received = await strict.receiveCall({ ...came, ...more })
    return 'refused' in received ? `${received.refused.status} ${received.refused.reason}` : ''
  }
  const history = async () => (await call(who, 'GET', '/open/voip/call-history')).body
  assert.equal(await come(), '503 All Channels Are Taken')
  const [cdr] = (await history()).cdrs
  assert.deepEqual([cdr.direction, cdr.from, cdr.status, cdr.end_reason], ['I', came.from, 'FAILED', 'no_channel'])
  assert.deepEqual({ verstat: cdr.verstat, npdi: cdr.npdi, rn: cdr.rn }, verified)

  // A flood leaves few CDRs, also of calls to a suspended number.
  const attempts = 60
  for (let i = 1; i < attempts; i++) await come()
  const { total } = await history()
  assert.ok(total < 20, `${total} of ${attempts}`)
  await db.run`update virtual_numbers set status_text = 'SUSPENDED' where account_id = ${who.id}`
  for (let i = 0; i < attempts; i++) assert.equal(await come({ isFull: false }), '480 The number takes no calls')
  assert.ok((await history()).total < 40)
})
