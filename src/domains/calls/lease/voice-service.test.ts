import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { startBucket } from '../../../../test/bucket.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, until } from '../../../../test/platform.ts'
import { energyShare } from '../../../adapters/media/tone-testing.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  receivesTone,
} from '../../../adapters/sip-gateway/testing.ts'
import { openVoicePlatform, startVoicePlatform, usersOf } from '../call-testing.ts'

const bucket = await startBucket()
const platform = await startVoicePlatform({ TRUNKLINE_MEDIA_STORE: bucket.address })
const { call } = platform
after(() => platform.end())
const [ada = '', grace = ''] = await usersOf(platform)
const { number } = await buyNumber(platform)
const did = (await call('GET', '/open/voip/virtual-numbers')).body.numbers[0].uuid
const account = (await call('GET', '/open/info')).body.account.uuid

const newest = async () => (await call('GET', '/open/voip/call-history')).body.cdrs[0]
const ended = () =>
  until(async () => {
    const cdr = await newest()
    return cdr && !cdr.active ? cdr : null
  })
const balance = async () => Number((await call('GET', '/open/info')).body.balance.amount)
const peers = async (t: TestContext) =>
  [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())] as const
const ring = (user: string | null) => call('PUT', `/open/voip/virtual-numbers/${did}`, { inbound_user_uuid: user })

test('a browser calls a telephone: both hear each other, and the call gets a CDR and is charged', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const [softphone, telephone] = await peers(t)
  const before = await balance()
  const phone = await browser(ada)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), softphone)
  const invited = await carrier.call()
  assert.match(invited.invite.uri, /^sip:\+447700900555@/)
  invited.ring({ status: 180 })
  await until(async () => dialled.progress.includes(180))
  assert.equal((await newest()).status, 'RINGING')
  await answer(invited, telephone)
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await receivesTone(softphone, 620)
  await receivesTone(telephone, 1_000)
  const talking = await newest()
  assert.deepEqual([talking.status, talking.active, talking.from], ['ANSWERED', true, ada])
  await (await until(async () => dialled.session)).bye()
  const cdr = await ended()
  assert.deepEqual(
    [cdr.status, cdr.end_reason, cdr.direction, cdr.is_sip_trunk_call, cdr.caller_id_used, cdr.agent_id, cdr.to_number],
    ['COMPLETED', '200', 'O', true, number, ada, '+447700900555'],
  )
  assert.ok(cdr.duration >= 1 && cdr.duration < 60)
  assert.deepEqual([cdr.call_cost.duration, cdr.call_cost.call_price], [60, 0.012])
  assert.ok(Math.abs(before - (await balance()) - 0.012) < 1e-9)
  const { transfers } = (await call('GET', `/operator/accounts/${account}/ledger`)).body
  assert.ok(JSON.stringify(transfers).includes(cdr.uuid))
})

test('a telephone calls a bought number: its user’s browser rings, and the CDR names who answered', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const [softphone, telephone] = await peers(t)
  const state = (await call('GET', '/operator/connections')).body
  assert.ok(state.connections.some(({ state }: { state?: { calls?: number } }) => state?.calls === 0))
  const headers = { from: '<sip:+447700900777@carrier.test>', uri: '' }
  const at = (to: string) => ({ ...headers, uri: `sip:${to}@127.0.0.1:${platform.voicePort}` })

  const { dialled: unknown } = await dial(carrier, at('+447700900999'), telephone)
  await until(async () => unknown.refused[0]?.startsWith('404'))
  await ring(null)
  const { dialled: unanswered } = await dial(carrier, at(number), telephone)
  await until(async () => unanswered.refused[0]?.startsWith('480'))
  assert.deepEqual([(await ended()).status, (await newest()).from], ['MISSED', '+447700900777'])

  await ring(grace)
  const phone = await browser(grace)
  const caller = await closedAfter(t, makeTelephone())
  const { dialled } = await dial(carrier, at(number), caller)
  const invited = await until(async () => phone.calls.shift())
  invited.ring({ status: 180 })
  await answer(invited, softphone)
  softphone.sendTone(1_000)
  await receivesTone(caller, 1_000)
  await (await until(async () => dialled.session)).bye()
  const cdr = await ended()
  assert.deepEqual(
    [cdr.status, cdr.direction, cdr.from, cdr.to_number, cdr.agent_id],
    ['COMPLETED', 'I', '+447700900777', number, grace],
  )
})

test('a suspended user is disconnected at once, even during a call, and cannot register again', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const [softphone, telephone] = await peers(t)
  const phone = await browser(grace)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), softphone)
  const { ends } = await answer(await carrier.call(), telephone)
  telephone.sendTone(620)
  await receivesTone(softphone, 620)
  await call('PATCH', `/operator/users/${grace}`, { status: 'SUSPENDED' })
  const at = Date.now()
  await until(async () => phone.code !== null)
  assert.equal(phone.code, 4003)
  assert.ok(Date.now() - at < 5_000, `${Date.now() - at} ms`)
  await until(async () => ends.length > 0 && dialled.ends.length > 0)
  assert.equal((await ended()).end_reason, 'suspended')
  await phone.connect()
  assert.match(await phone.register(), /^403/)
  await call('PATCH', `/operator/users/${grace}`, { status: 'ACTIVE' })
  assert.match(await phone.register(), /^200/)
})

test('an operator ends a call: both sides are informed, and the record states the operator', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const [softphone, telephone] = await peers(t)
  const phone = await browser(ada)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), softphone)
  const { ends } = await answer(await carrier.call(), telephone)
  await until(async () => (await newest()).status === 'ANSWERED')
  await mediaFlow(softphone)
  const hangUp = async () => await call('POST', `/operator/accounts/${account}/calls/${(await newest()).uuid}/hangup`)
  const response = await hangUp()
  assert.deepEqual([response.status, response.body.cdr.active], [202, true])
  await until(async () => ends.length > 0 && dialled.ends.length > 0)
  const { status, end_reason } = await ended()
  assert.deepEqual([status, end_reason], ['COMPLETED', 'operator'])
  const again = await hangUp()
  assert.deepEqual([again.status, again.body.error_code], [409, 'call_ended'])
})

test('a forbidden destination is refused with a reason, and every attempt leaves a free record', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const softphone = await closedAfter(t, makeSoftphone())
  const phone = await browser(ada)
  const refused = async (to: string, headers: readonly (readonly [string, string])[] = []) => {
    const { dialled } = await dial(phone, { ...fromBrowser(phone, to), headers }, softphone)
    return [
      await until(async () => dialled.refused[0]),
      (await newest()).end_reason,
      (await newest()).call_cost.call_price,
    ]
  }
  assert.deepEqual(await refused('112'), ['403 Emergency numbers cannot be called: use a telephone', 'emergency', 0])
  assert.match(String(await refused('12ab')), /^404 .*E\.164.*,not_e164/)
  assert.match(String(await refused('USR01a1fcca-93ab-7cbc-9f10-be702f775479')), /^404 .*,unknown_user/)
  assert.match(String(await refused('+447700900555', [['X-Caller-Id', '+447700900111']])), /^403 .*,caller_id/)
  assert.equal(carrier.calls.length, 0)
})

test('a recording is served by a link, agent left and remote side right, and the timeline explains the call', async (t) => {
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const [softphone, telephone] = await peers(t)
  const phone = await browser(ada)
  const callRequest = { ...fromBrowser(phone, '+447700900555'), headers: [['X-Record', 'true']] as const }
  const { dialled } = await dial(phone, callRequest, softphone)
  await answer(await carrier.call(), telephone)
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await receivesTone(softphone, 620)
  await receivesTone(telephone, 1_000)
  await (await until(async () => dialled.session)).bye()
  const cdr = await ended()
  const answered = await fetch(cdr.recording_url)
  assert.deepEqual([answered.status, answered.headers.get('content-type')], [200, 'audio/wav'])
  const wav = Buffer.from(await answered.arrayBuffer())
  const moved = await until(async () => [...bucket.objects.values()][0])
  assert.ok(moved.equals(wav))
  const frames = (wav.length - 44) / 4
  assert.ok(Math.abs(frames / 8_000 - cdr.duration) <= 1.5, `${frames / 8_000} s of ${cdr.duration}`)
  const side = (offset: number) => Array.from({ length: frames }, (_, i) => wav.readInt16LE(44 + i * 4 + offset))
  assert.ok(energyShare(side(0).slice(-4_000), 1_000) > 0.9 && energyShare(side(2).slice(-4_000), 620) > 0.9)
  const part = await fetch(cdr.recording_url, { headers: { range: 'bytes=0-43' } })
  assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, 44])
  assert.equal((await fetch(cdr.recording_url.replace(/signature=../, 'signature=xx'))).status, 404)
  assert.equal((await fetch(cdr.recording_url.replace(/until=\d/, 'until=9'))).status, 404)

  const path = `/open/voip/call/${cdr.uuid}/timeline`
  const lines = await until(async () => {
    const { timeline } = (await call('GET', path)).body
    const text = timeline.map((line: { what: string; text: string }) => `${line.what} ${line.text}`).join('\n')
    return text.includes('completed 200') && text
  })
  assert.match(lines, /^sip_in INVITE sip:\+447700900555@/)
  assert.match(lines, /sip_out INVITE sip:\+447700900555@…/, 'the account does not see the carrier address')
  assert.match(lines, /media pcmu; received \d+ packets/)
  const whole = await call('GET', `/operator/accounts/${account}/calls/${cdr.uuid}/timeline`)
  assert.ok(JSON.stringify(whole.body).includes(`@127.0.0.1:${carrier.port}`))
})

test('trunk diagnostics call a number of the trunk, and report whether codecs match and audio returns', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform)
  const name = `carrier ${carrier.port}`
  const check = async () => {
    const path = `/operator/trunks/${encodeURIComponent(name)}/check`
    const { body } = await call('POST', path, { echo_number: '+447700900555' })
    return [body.working, ...body.findings.map(({ what, well }: { what: string; well: boolean }) => `${what} ${well}`)]
  }
  const telephone = await closedAfter(t, makeTelephone())
  const checked = check()
  await answer(await carrier.call(), telephone)
  telephone.sendTone(1_000)
  assert.deepEqual(await checked, [true, 'dns true', 'options true', 'nat true', 'codecs true', 'media true'])
  const silent = check()
  await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  assert.deepEqual(await silent, [false, 'dns true', 'options true', 'nat true', 'codecs true', 'media false'])
  const refused = check()
  ;(await carrier.call()).refuse({ status: 488 })
  assert.deepEqual(await refused, [false, 'dns true', 'options true', 'nat true', 'codecs false'])
  assert.equal((await call('POST', '/operator/trunks/nothing/check', {})).status, 404)
})
