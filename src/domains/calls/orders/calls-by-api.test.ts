import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Receiver } from '../../../../test/doubles/receiver.ts'
import { makeStreamServer } from '../../../../test/media/stream-server.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, until } from '../../../../test/platform.ts'
import { answer, closedAfter, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { signatureHeaders, signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import { openVoicePlatform, startVoicePlatform } from '../call-testing.ts'

const platform = await startVoicePlatform()
const { call } = platform
const receiver = await new Receiver().up()
const agent = await makeStreamServer()
after(async () => {
  await platform.end()
  await agent.close()
  await receiver.down()
})
const { number } = await buyNumber(platform)

const statuses = ['initiated', 'ringing', 'answered', 'completed'] as const
const tone = (hertz: number, on_ms = 60_000) => ({ verb: 'play', tone: { hertz: [hertz], on_ms } })

const make = async (body: object) => {
  const made = await call('POST', '/open/voip/calls', { from_number: number, ...body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.cdr.uuid as string
}
const find = async (id: string) => (await call('GET', `/open/voip/call/${id}`)).body.cdr
const reaches = (id: string, status: string) =>
  until(async () => {
    const cdr = await find(id)
    return cdr.status === status ? cdr : null
  })
const ended = (id: string) =>
  until(async () => {
    const cdr = await find(id)
    return cdr.active ? null : cdr
  })
const command = async (id: string, body: object) => {
  const { status, body: told } = await call('POST', `/open/voip/call/${id}/commands`, body)
  return { status, ...told }
}
const handset = (to: string) => call('GET', `/sandbox/handsets/${to}`)
const hears = (to: string, hertz: number) =>
  until(async () => {
    const { tones = [] } = (await handset(to)).body.calls.at(-1) ?? {}
    return tones.some((one: { hertz: number }) => one.hertz === hertz)
  })
/** The reports that a path of the receiver got, oldest first. */
const reports = (path: string) =>
  receiver.calls.filter((one) => one.path === path).map(({ body, headers }) => ({ ...JSON.parse(body), headers }))

test('a call by the API rings a handset, which hears the prompt; its callbacks come in order, each once', async () => {
  const to = '+447700900301'
  const verbs = [tone(440, 600), { verb: 'hangup' }]
  const path = '/first'
  const id = await make({ to, verbs, status_url: receiver.url(path), status_events: statuses, tags: { order: '7' } })
  await hears(to, 440)
  const cdr = await ended(id)
  assert.deepEqual(
    [cdr.status, cdr.direction, cdr.caller_id_used, cdr.to_number, cdr.is_sip_trunk_call],
    ['COMPLETED', 'O', number, to, true],
  )
  assert.match(cdr.from, /^DID/)
  assert.deepEqual([cdr.call_cost.duration, cdr.call_cost.forwarded], [60, false])
  const got = await until(async () => (reports(path).length >= 4 ? reports(path) : null))
  assert.deepEqual(
    got.map(({ event, sequence, call: { uuid, status, tags } }) => [event, sequence, uuid, status, tags.order]),
    [
      ['call.initiated', 0, id, 'QUEUED', '7'],
      ['call.ringing', 1, id, 'RINGING', '7'],
      ['call.answered', 2, id, 'ANSWERED', '7'],
      ['call.completed', 3, id, 'COMPLETED', '7'],
    ],
  )
  assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 4)
  assert.equal(got[3].result.price, '0.012')
  const { signing_secret } = (await call('GET', '/open/voip/signing-secret')).body
  for (const { headers, body } of receiver.calls.filter((one) => one.path === path)) {
    const sent = Number(headers['webhook-timestamp']) * 1_000
    const expected = signatureHeaders([signingKeyOf(signing_secret)], String(headers['webhook-id']), body, sent)
    assert.equal(headers['webhook-signature'], expected['webhook-signature'])
  }
})

test('a callback that is refused is tried again with its id before the next one comes', async () => {
  const to = '+447700900302'
  const path = '/again'
  let refusals = 1
  receiver.onCall = (one) => {
    receiver.status = one.path === path && refusals-- > 0 ? 500 : 200
  }
  await call('PUT', `/sandbox/handsets/${to}`, { answers: 'busy' })
  const status_events = ['initiated', 'completed']
  const id = await make({ to, verbs: [{ verb: 'hangup' }], status_url: receiver.url(path), status_events })
  assert.equal((await ended(id)).status, 'BUSY')
  const got = await until(async () => (reports(path).length >= 3 ? reports(path) : null), 30)
  assert.deepEqual(
    got.map(({ event }) => event),
    ['call.initiated', 'call.initiated', 'call.completed'],
  )
  assert.equal(got[0].headers['webhook-id'], got[1].headers['webhook-id'])
  receiver.onCall = () => {}
})

test('callbacks of an application that takes GET have their fields in the query, signed with its secret', async () => {
  const to = '+447700900306'
  const path = '/got'
  const urls = { url: receiver.url('/program'), status_url: receiver.url(`${path}?a=1`), status_method: 'GET' }
  const made = await call('POST', '/open/voip/applications', { name: 'Menu', ...urls })
  await call('PUT', `/sandbox/handsets/${to}`, { answers: 'busy' })
  const id = await make({ to, application_uuid: made.body.application.uuid })
  const { query, headers, body } = await until(async () =>
    receiver.calls
      .map((one) => ({ ...one, query: new URL(one.path, receiver.url('/')) }))
      .find(({ query }) => query.pathname === path),
  )
  const fields = query.searchParams
  assert.deepEqual(
    [body, fields.get('a'), fields.get('event'), fields.get('call.uuid'), fields.get('result.end_reason')],
    ['', '1', 'call.completed', id, '486'],
  )
  const sent = Number(headers['webhook-timestamp']) * 1_000
  const keys = [signingKeyOf(made.body.signing_secret)]
  const expected = signatureHeaders(keys, String(headers['webhook-id']), '', sent)
  assert.equal(headers['webhook-signature'], expected['webhook-signature'])
})

test('commands play to a running call, tag it, change its program, and end it', async () => {
  const to = '+447700900303'
  const id = await make({ to, verbs: [{ verb: 'pause', seconds: 60 }] })
  await reaches(id, 'ANSWERED')
  const { tone: sound } = tone(700)
  const played = await command(id, { command: 'play', tone: sound })
  assert.deepEqual(played, { status: 200, success: true, outcome: { ok: true } })
  await hears(to, 700)
  assert.equal((await command(id, { command: 'stop' })).outcome.ok, true)
  assert.equal((await command(id, { command: 'tag', data: { seen: true } })).outcome.ok, true)
  assert.deepEqual((await command(id, { command: 'stop_stream' })).outcome.code, 'no_stream')
  const refused = await command(id, { command: 'stream', url: 'wss://user@example.com/' })
  assert.deepEqual([refused.status, refused.error_code, refused.field], [400, 'url_refused', '/url'])
  assert.match(
    (await command(id, { command: 'stream', url: agent.url, direction: 'in' })).outcome.stream,
    /[0-9a-f-]{36}$/,
  )
  await until(async () => (agent.streams.at(-1)?.frames.length ?? 0) > 2)
  assert.equal((await command(id, { command: 'stop_stream' })).outcome.ok, true)
  const missing = await command(id, { command: 'dtmf' })
  assert.deepEqual([missing.status, missing.field], [400, '/digits'])
  assert.equal((await command(id, { command: 'redirect', verbs: [tone(900)] })).outcome.ok, true)
  await hears(to, 900)
  assert.deepEqual((await command(id, { command: 'hangup' })).outcome, { ok: true })
  const cdr = await ended(id)
  assert.deepEqual([cdr.status, cdr.end_reason], ['COMPLETED', '200'])
  const late = await command(id, { command: 'hangup' })
  assert.deepEqual([late.status, late.error_code], [409, 'call_ended'])
})

test('the changes of a stream are reported in order, signed; its errors are in the timeline of the call', async (t) => {
  const [agent, gone] = [await makeStreamServer(), await makeStreamServer()]
  t.after(() => agent.close())
  await gone.close()
  const [to, path] = ['+447700900309', '/stream']
  const status_url = receiver.url(path)
  const verbs = [
    { verb: 'stream', url: agent.url, name: 'ears', status_url },
    { verb: 'stream', url: gone.url, status_url },
    { verb: 'hangup' },
  ]
  const id = await make({ to, verbs })
  const served = await until(async () => (agent.streams[0]?.frames.length ?? 0) > 2 && agent.streams[0])
  // More than 300 s of audio.
  for (let n = 0; n < 4; n++) served.sendAudio(Buffer.alloc(700_000, 0xff))
  await until(async () => reports(path).length === 2)
  served.socket.close(1000)
  await ended(id)
  const got = await until(async () => (reports(path).length >= 4 ? reports(path) : null))
  const sid = served.frames[1]?.streamSid
  assert.deepEqual(
    got.map(({ event, call: { uuid }, result }) => [event, uuid, result.name, result.error_code, result.reason]),
    [
      ['stream-started', id, 'ears', undefined, undefined],
      ['stream-error', id, 'ears', 'buffer_full', undefined],
      ['stream-stopped', id, 'ears', undefined, 'closed'],
      ['stream-error', id, null, 'stream_unreachable', undefined],
    ],
  )
  assert.deepEqual(
    got.slice(0, 3).map(({ result }) => result.stream),
    [sid, sid, sid],
  )
  assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 4)
  const { signing_secret } = (await call('GET', '/open/voip/signing-secret')).body
  for (const { headers, body } of receiver.of(path)) {
    const sent = Number(headers['webhook-timestamp']) * 1_000
    const expected = signatureHeaders([signingKeyOf(signing_secret)], String(headers['webhook-id']), body, sent)
    assert.equal(headers['webhook-signature'], expected['webhook-signature'])
  }
  // Steps of programs and notes are persisted apart, each a moment later.
  await until(async () => {
    const text = JSON.stringify((await call('GET', `/open/voip/call/${id}/timeline`)).body)
    return text.includes('stream: stream_unreachable') && text.includes('stream: buffer_full')
  })
})

test('a call that rings is canceled by a hang-up; a command that needs the answer says so before', async () => {
  const to = '+447700900304'
  await call('PUT', `/sandbox/handsets/${to}`, { answers: 'no_answer' })
  const id = await make({ to, verbs: [tone(440)] })
  await reaches(id, 'RINGING')
  assert.equal((await command(id, { command: 'dtmf', digits: '1' })).outcome.ok, false)
  assert.deepEqual((await command(id, { command: 'hangup' })).outcome, { ok: true })
  assert.equal((await ended(id)).status, 'CANCELED')
})

test('a call has its headers, rings for its time, sends its digits after the answer, and talks for its time', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: ['442079460'] })
  const verbs = [tone(440)]
  const first = { to: '+442079460701', headers: { 'X-Order': '1234' }, ring_timeout: 5, verbs }
  const silent = await make(first)
  const rang = await carrier.call()
  rang.ring({ status: 180 })
  assert.ok(rang.invite.headers.some(([name, value]) => name.toLowerCase() === 'x-order' && value === '1234'))
  assert.equal((await ended(silent)).status, 'NO_ANSWER')

  const id = await make({ to: '+442079460702', send_digits: '12', max_seconds: 2, verbs })
  const telephone = await closedAfter(t, makeTelephone())
  await answer(await carrier.call(), telephone)
  await receivesTone(telephone, 440)
  assert.equal(telephone.digits, '12')
  const { duration, status, end_reason } = await ended(id)
  assert.deepEqual([status, end_reason, duration], ['COMPLETED', 'time_limit', 2])
})
