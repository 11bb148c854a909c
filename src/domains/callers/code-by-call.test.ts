import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { writeRtp } from '@trunkline/rtp/rtp.ts'
import { makeTelephone, type Telephone, withDescription } from '../../../test/media/telephone.ts'
import { buyNumber, until } from '../../../test/platform.ts'
import { dtmfTonePackets } from '../../adapters/media/embedded/dtmf-tones.ts'
import { energyShare } from '../../adapters/media/tone-testing.ts'
import { answer, closedAfter } from '../../adapters/sip-gateway/testing.ts'
import { openVoicePlatform, startVoicePlatform } from '../calls/call-testing.ts'

const platform = await startVoicePlatform()
const { call } = platform
after(() => platform.end())
const { number } = await buyNumber(platform)

const path = '/open/voip/caller-ids'
let last = 100
const landline = () => `+44207946${String(++last).padStart(4, '0')}`

const ask = async (phone_number: string, body: object = {}) => {
  const created = await call('POST', path, { phone_number, method: 'call', ...body })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body
}
const listed = async (phone_number: string) => {
  const { caller_ids } = (await call('GET', `${path}?results_per_page=200`)).body
  return caller_ids.find((one: { phone_number: string }) => one.phone_number === phone_number)
}
const onHandset = async (handset: string) => (await call('GET', `/sandbox/handsets/${handset}`)).body.calls.at(-1)
/** Waits until the handset hears the prompt twice: the platform may miss keys that are pressed before. */
const prompted = (handset: string) =>
  until(async () => {
    const seen = await onHandset(handset)
    const heard = seen?.tones.filter(({ hertz }: { hertz: number }) => hertz === 440) ?? []
    return seen?.state === 'answered' && heard.length > 1 ? seen : null
  })
const press = async (handset: string, call_id: string, digits: string) => {
  const { status, body } = await call('POST', `/sandbox/handsets/${handset}/calls/${call_id}/keys`, { digits })
  assert.deepEqual([status, body.pressed], [202, true])
}
const ended = (uuid: string) =>
  until(async () => {
    const { cdr } = (await call('GET', `/open/voip/call/${uuid}`)).body
    return cdr.active ? null : cdr
  })
const newestOf = async (uuid: string) => (await call('GET', `/open/voip/call/${uuid}`)).body.cdr
/** Whether a text has the code as a separate word: ids and times have many digits. */
const hasCode = (text: string, code: string) => new RegExp(`(?<![\\w.-])${code}(?![\\w-])`).test(text)
const hearsTone = (telephone: Telephone) =>
  until(async () => telephone.samples.length > 4_000 && energyShare(telephone.samples.slice(0, 4_000), 440) > 0.9)
const other = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, '0')

test('the code that its owner types in a call proves a landline', async () => {
  const handset = landline()
  const { caller_id, call_uuid, code } = await ask(handset, { friendly_name: 'Desk' })
  assert.match(code, /^\d{6}$/)
  assert.partialDeepStrictEqual(caller_id, {
    ...{ phone_number: handset, verified: false },
    verification: { method: 'call', state: 'pending', call_uuid },
  })
  const early = await call('POST', `${path}/${caller_id.uuid}/verify`, { code })
  assert.deepEqual([early.status, early.body.error_code], [409, 'code_by_call'])
  const { call_id, peer } = await prompted(handset)
  assert.equal(peer, number)
  await press(handset, call_id, `12*${code}`)
  const proved = await until(async () => {
    const one = await listed(handset)
    return one.verified ? one : null
  })
  assert.ok(!('verification' in proved))
  const cdr = await ended(call_uuid)
  assert.deepEqual(
    [cdr.status, cdr.end_reason, cdr.direction, cdr.caller_id_used, cdr.to_number, cdr.call_cost.duration],
    ['COMPLETED', 'code_right', 'O', number, handset, 60],
  )
  const lists = [path, '/open/voip/call-history', `/open/voip/call/${call_uuid}/timeline`, '/open/audit']
  for (const list of lists) {
    const { status, body } = await call('GET', list)
    assert.equal(status, 200, list)
    assert.ok(!hasCode(JSON.stringify(body), code), list)
  }
  assert.ok(!hasCode(platform.output(), code))
  const again = await call('POST', path, { phone_number: handset, method: 'call' })
  assert.deepEqual([again.status, again.body.error_code], [409, 'caller_id_exists'])
})

test('a call ends after three wrong codes, and the right code is then refused', async () => {
  const handset = landline()
  const { caller_id, call_uuid, code } = await ask(handset)
  const { call_id } = await prompted(handset)
  await press(handset, call_id, [1, 2, 3].map((by) => `${other(code, by)}#`).join('') + code)
  const cdr = await ended(call_uuid)
  assert.deepEqual([cdr.status, cdr.end_reason], ['COMPLETED', 'code_wrong'])
  const { verified, verification } = await listed(handset)
  assert.deepEqual([verified, verification.state, verification.call_uuid], [false, 'expired', call_uuid])
  const late = await call('POST', `${path}/${caller_id.uuid}/verify`, { code })
  assert.deepEqual([late.status, late.body.error_code], [409, 'code_expired'])
  await until(async () => {
    const { timeline } = (await call('GET', `/open/voip/call/${call_uuid}/timeline`)).body
    return timeline.filter(({ text }: { text: string }) => text === 'the code that was typed: wrong').length === 3
  })
})

test('a busy, rejected or unanswered call proves nothing and ends its code', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: ['4420794602'] })
  const at = { busy: '+442079460204', rejected: '+442079460205', silent: '+442079460206' }
  for (const [number, status, expected] of [
    [at.busy, 486, 'BUSY'],
    [at.rejected, 603, 'FAILED'],
    [at.silent, 480, 'NO_ANSWER'],
  ] as const) {
    const { call_uuid } = await ask(number)
    const invited = await carrier.call()
    invited.ring({ status: 180 })
    invited.refuse({ status })
    const cdr = await ended(call_uuid)
    assert.deepEqual([cdr.status, cdr.call_cost.call_price], [expected, 0], number)
    assert.equal((await listed(number)).verification.state, 'expired')
  }
})

test('a hangup before the code, by the callee or an operator, ends the code', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: ['4420794602'] })
  const first = await ask('+442079460211')
  const taken = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(async () => (await newestOf(first.call_uuid)).status === 'ANSWERED')
  await taken.session.bye()
  const cdr = await ended(first.call_uuid)
  assert.deepEqual([cdr.status, cdr.end_reason, cdr.call_cost.duration], ['COMPLETED', '200', 60])
  assert.equal((await listed('+442079460211')).verification.state, 'expired')

  const second = await ask('+442079460212')
  const { ends } = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(async () => (await newestOf(second.call_uuid)).status === 'ANSWERED')
  const account = cdr.account_uuid
  const cut = await call('POST', `/operator/accounts/${account}/calls/${second.call_uuid}/hangup`)
  assert.equal(cut.status, 202)
  await until(async () => ends.length > 0)
  assert.equal((await ended(second.call_uuid)).end_reason, 'operator')
})

test('blocking the account ends its call to a telephone at once', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: ['4420794602'] })
  const { caller_id, call_uuid } = await ask('+442079460213')
  const { ends } = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(async () => (await newestOf(call_uuid)).status === 'ANSWERED')
  const account = `/operator/accounts/${caller_id.account_uuid}`
  const block = async (blocked: boolean) => assert.equal((await call('PATCH', account, { blocked })).status, 200)
  await block(true)
  await until(async () => ends.length > 0)
  await block(false)
  const { status, end_reason } = await ended(call_uuid)
  assert.deepEqual([status, end_reason], ['COMPLETED', 'suspended'])
})

test('a code over a real trunk proves a number also outside the sandbox, by INFO, telephone-events or tones; a sandbox trunk does not', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: ['4420794602'] })
  for (const [number, way] of [
    ['+442079460221', 'info'],
    ['+442079460222', 'rtp'],
    ['+442079460223', 'tones'],
  ] as const) {
    const { code, call_uuid } = await ask(number)
    const invited = await carrier.call()
    const telephone = await closedAfter(t, makeTelephone())
    const omits = way === 'tones' ? /telephone-event|^a=fmtp/ : /^$/
    const { session, ends } = await answer(invited, withDescription(telephone, { omits }))
    await hearsTone(telephone)
    if (way === 'rtp') await telephone.press(code)
    else if (way === 'tones')
      for (const [sequence, { timestamp, marker, payload }] of [...dtmfTonePackets(code, 'pcmu')].entries())
        await telephone.sendPacket(writeRtp({ payloadType: 0, marker, sequence, timestamp, ssrc: 7, payload }))
    else
      for (const key of code) {
        const body = { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` }
        const response = await session.info({ body })
        assert.ok(response?.outcome === 'answered' && response.response.status === 200)
      }
    await until(async () => ends.length > 0)
    assert.equal((await ended(call_uuid)).end_reason, 'code_right')
  }
  const simulated = landline()
  const { code, caller_id } = await ask(simulated)
  await press(simulated, (await prompted(simulated)).call_id, code)
  await until(async () => (await listed(simulated)).verified)
  const account = `/operator/accounts/${caller_id.account_uuid}`
  assert.equal((await call('PATCH', account, { sandbox: false })).status, 200)
  t.after(() => call('PATCH', account, { sandbox: true }))
  await until(async () => (await listed(simulated)).verified === false)
  assert.ok((await listed('+442079460221')).verified)
  assert.ok((await listed('+442079460222')).verified)
  assert.ok((await listed('+442079460223')).verified)
})
