import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAudio, writeAudio } from '@trunkline/rtp/sdp.ts'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { SipSession } from '@trunkline/sip/dialog/sip-session.ts'
import { DigestServer } from '@trunkline/sip/digest/digest-server.ts'
import { contactsOf } from '@trunkline/sip/fields.ts'
import { defaultHandlers, noSessionEvents, openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeCallControl, openGateway, openMedia, trunkOf } from '../../src/adapters/sip-gateway/testing.ts'
import { needs } from '../needs.ts'
import { bobAt, openTelephone } from './telephone.ts'

// baresip, a complete user agent that we did not write: it registers, answers and dials on command.

const audio = {
  ...{ id: '7', address: '127.0.0.1', port: 6_002, rtcpPort: 6_003, isMuxed: false, protocol: 'RTP/AVP' },
  formats: [{ type: 0, name: 'pcmu', clock: 8_000, parameters: '' }],
  ...{ ssrc: 1, name: 'us', security: null, offer: null },
}
const sdp = (version: number, direction: 'sendrecv' | 'sendonly' = 'sendrecv') => ({
  type: 'application/sdp',
  content: writeAudio({ ...audio, version, direction }),
})

test('baresip registers, is called, put on hold and hung up, and calls us', needs('baresip'), async (t) => {
  const digest = new DigestServer({ realm: 'us.test', secret: 's', now: Date.now, algorithms: ['MD5'] })
  const contacts: string[] = []
  const calls: IncomingCall[] = []
  const { agent, udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => void calls.push(call),
      onRegister: (request) => {
        const claim = digest.claim(request)
        const isKnown = claim?.username === 'bob' && digest.verify(request, claim, 'pass') === 'good'
        if (!isKnown)
          return { status: 401, headers: digest.challenge().map((value) => ['WWW-Authenticate', value] as const) }
        const asked = contactsOf(request)
        if (asked !== '*') contacts.push(...asked.map(({ uri }) => uri))
        return { status: 200, headers: [['Contact', `<${contacts.at(-1)}>;expires=60`]] }
      },
    },
  })
  const telephone = await openTelephone(t, bobAt(udp))
  const contact = await until(() => contacts[0], `registration of baresip: ${telephone.program.output()}`)

  const sessions: SipSession[] = []
  const ended: string[] = []
  agent.invite(
    { uri: contact, from: `<sip:us@127.0.0.1:${udp}>`, body: sdp(1) },
    {
      progress: () => telephone.tell('accept'),
      accepted: ({ body }, session) => {
        const answer = readAudio(body.toString())
        assert.ok(typeof answer !== 'string' && answer.formats.some(({ type, name }) => type === 0 && name === 'pcmu'))
        sessions.push(session)
      },
      refused: (outcome) => assert.fail(JSON.stringify(outcome)),
      session: { ...noSessionEvents, ended: (why) => ended.push(why) },
    },
  )
  const session = await until(() => sessions[0], `an answer of baresip: ${telephone.program.output()}`)
  const held = await session.reinvite({ body: sdp(2, 'sendonly') })
  assert.ok(held?.outcome === 'answered' && held.response.status === 200)
  const answer = readAudio(held.response.body.toString())
  assert.ok(typeof answer !== 'string')
  assert.equal(answer.direction, 'recvonly')
  await session.bye()
  assert.deepEqual(ended, ['local'])

  telephone.tell('dial', `sip:us@127.0.0.1:${udp}`)
  const call = await until(() => calls[0], `a call of baresip: ${telephone.program.output()}`)
  call.ring({ status: 180 })
  let acknowledged = false
  call.accept(
    { body: sdp(1) },
    {
      ...noSessionEvents,
      acknowledged: () => {
        acknowledged = true
      },
      ended: (why) => ended.push(why),
    },
  )
  await until(() => acknowledged)
  telephone.tell('hangup')
  await until(() => ended.length === 2, `hanging up of baresip: ${telephone.program.output()}`)
  assert.deepEqual(ended, ['local', 'remote'])
})

test('the platform calls baresip and detects each key once', needs('baresip'), async (t) => {
  const number = '+442079460123'
  const media = await openMedia()
  t.after(() => media.close())
  const callControl = makeCallControl(() => assert.fail('no call is expected'))
  const { gateway } = await openGateway(t, { callControl: callControl.callControl, media })
  const telephone = await openTelephone(
    t,
    (port) => `<sip:${number}@127.0.0.1:${port}>;regint=0;catchall=yes;answermode=auto;audio_codecs=pcmu`,
  )
  await gateway.apply([trunkOf(telephone.port)])
  await until(() => gateway.trunk('carrier')?.state === 'up', `baresip: ${telephone.program.output()}`)
  const typed: string[] = []
  const plan = {
    ...{ call: 'own-call', callerId: '+447700900001', targets: [{ trunk: 'carrier', number }] },
    ...{ account: 'one', ringSeconds: 20, record: null, mostSeconds: null },
  }
  const code = '482913'
  const judge = async (key: string) => {
    typed.push(key)
    return typed.length < code.length ? 'again' : { done: 'all keys' }
  }
  await gateway.dial(plan, { length: 1, seconds: 30, check: judge })
  assert.equal(callControl.of('answered').length, 1, JSON.stringify(callControl.entries))
  for (const [i, key] of [...code].entries()) {
    telephone.tell('sndcode', key)
    await until(() => typed.length > i, `key ${key}: ${telephone.program.output()}`)
  }
  assert.equal(typed.join(''), code)
  await until(() => callControl.of('ended').length > 0)
  assert.partialDeepStrictEqual(callControl.of('ended')[0]?.about, { how: 'completed', reason: 'all keys', by: null })
  assert.ok(!callControl.traces.some((line) => line.includes(code)))
})
