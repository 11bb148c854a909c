import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { after, type TestContext, test } from 'node:test'
import { closedAfter, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { ordinaryProgramMs } from '../../src/domains/calls/limits.ts'
import { type Answer, openProgram } from '../../src/domains/calls/programs/program-testing.ts'
import { freePort } from '../counterparts/program.ts'
import { makeTelephone, type Telephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { receive, reply, runScenario, sdp, send } from './sipp-scenario.ts'
import { freePortSettings, watchCapacity } from './voice-fixture.ts'

// SIPp calls numbers whose programs run, and changes or ends its calls at awkward moments.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const { call } = platform
const { number } = await buyNumber(platform)
const nothingIsLeft = await watchCapacity(platform)
const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body

const endless = { verb: 'play', tone: { hertz: [440], on_ms: 1_000 }, loop: 0 }

/** A number that runs the program at /begin, and SIPp as its caller. @returns an id of the newest call, once there is one */
const open = async (
  t: TestContext,
  answers: Record<string, Answer>,
  steps: readonly string[],
  { port = 0, callId = 'edge-%u-%p' } = {},
) => {
  const program = await openProgram(t, { ...answers, '/ended': null })
  const made = await call('POST', '/open/voip/applications', {
    ...{ name: 'Edges', url: `${program.base}/begin`, status_url: `${program.base}/ended` },
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const voice = { kind: 'application', application_uuid: made.body.application.uuid }
  const changed = await call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { voice })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const target = ['-cid_str', callId, '-s', number, `127.0.0.1:${platform.voicePort}`]
  const caller = await runScenario(t, steps, { port: port || (await freePort()), target })
  const id = await until(async () => program.received[0]?.body.call.uuid)
  /** The call is over: in its record, at SIPp, and for its program, which learns of it once. Nothing of it is left. */
  const ended = async () => {
    const cdr = await until(async () => {
      const { cdr } = (await call('GET', `/open/voip/call/${id}`)).body
      return cdr.active ? null : cdr
    })
    assert.equal(await caller.ended, 0, caller.output().slice(-3_000))
    await nothingIsLeft()
    const reports = () => program.received.filter(({ path }) => path === '/ended')
    await until(async () => reports().length > 0)
    assert.deepEqual(
      reports().map(({ body }) => [body.event, body.call.uuid, body.call.status]),
      [['call.completed', id, cdr.status]],
    )
    return cdr
  }
  const hangUp = async () => {
    const { status, body } = await call('POST', `/open/voip/call/${id}/commands`, { command: 'hangup' })
    assert.equal(status, 200, JSON.stringify(body))
  }
  const paths = () => program.paths().filter((path) => path !== '/ended')
  return { ...program, paths, ended, hangUp }
}

/** A session description that names the telephone in place of SIPp's own media. */
const sdpOf = async (telephone: Telephone, direction = 'sendrecv') =>
  `Content-Type: application/sdp\nContent-Length: [len]\n\n${(await telephone.offer())
    .replaceAll('\r\n', '\n')
    .replace('sendrecv', direction)}`

let branches = 0
/** A request of the caller. @param to the parameters of To, and where the request goes @param via of an earlier request */
const request = (method: string, cseq: number, body?: string, { isWithin = true, via = '' } = {}) =>
  send(
    `${method} sip:${number}@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=z9hG4bK${via || `[call_number]x${++branches}`}
From: <sip:+33612345678@[local_ip]>;tag=[pid]caller[call_number]
To: <sip:${number}@[remote_ip]:[remote_port]>${isWithin ? '[peer_tag_param]' : ''}
Call-ID: [call_id]
CSeq: ${cseq} ${method}
Contact: <sip:caller@[local_ip]:[local_port]>
Max-Forwards: 70`,
    body,
  )

/** Sends SIPp an OPTIONS in its call, for which its scenario waits. */
const wake = (port: number, callId: string) => {
  const lines = [
    `OPTIONS sip:caller@127.0.0.1:${port} SIP/2.0`,
    'Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKwake',
    'From: <sip:test@127.0.0.1>;tag=wake',
    `To: <sip:caller@127.0.0.1:${port}>`,
    `Call-ID: ${callId}`,
    'CSeq: 1 OPTIONS',
    'Max-Forwards: 70',
    'Content-Length: 0',
  ]
  const socket = createSocket('udp4')
  socket.send(`${lines.join('\r\n')}\r\n\r\n`, port, '127.0.0.1', () => socket.close())
}

const invite = (body?: string) => request('INVITE', 1, body, { isWithin: false, via: 'invite' })
const pause = (milliseconds: number) => `<pause milliseconds="${milliseconds}"/>`
/** A response with a line in its description. */
const receiveWith = (status: number, pattern: string) =>
  `<recv response="${status}" rtd="true"><action><ereg regexp="${pattern}" search_in="msg" check_it="true" assign_to="1"/><log message="[$1]"/></action></recv>`
const trying = [receive('100', 'optional="true"'), receive('180', 'optional="true"')]
const byeOfPlatform = [receive('BYE'), reply('200 OK')]

/** SIPp sends its keys by a raw socket. */
const needsKeys = {
  skip: needs('sipp').skip || (process.getuid?.() === 0 ? false : 'needs root, for the keys of SIPp'),
}
const keysOfSipp = `${sdp.replace('RTP/AVP 0', 'RTP/AVP 0 96')}a=rtpmap:96 telephone-event/8000\n`

test('a menu of three levels gets each key of SIPp once, in order', needsKeys, async (t) => {
  const level = (action: string) => [{ verb: 'gather', num_digits: 1, timeout: 30, action }]
  const last = { verb: 'gather', num_digits: 1, timeout: 0.5, on_empty: 'action', action: '/none' }
  const { received, ended, paths } = await open(
    t,
    {
      ...{ '/begin': level('/first'), '/first': level('/second'), '/second': level('/third') },
      ...{ '/third': [last], '/none': [] },
    },
    [
      invite(keysOfSipp),
      ...trying,
      receive('200'),
      request('ACK', 1),
      '<nop><action><exec play_dtmf="123"/></action></nop>',
      ...byeOfPlatform,
    ],
  )
  assert.equal((await ended()).status, 'COMPLETED')
  assert.deepEqual(paths(), ['/begin', '/first', '/second', '/third', '/none'])
  const keys = received.flatMap(({ body }) => body.result?.digits ?? [])
  assert.deepEqual(keys, ['1', '2', '3', ''])
})

test(
  'a caller that hangs up while its program waits for keys ends the call; the action is not requested',
  needs('sipp'),
  async (t) => {
    const telephone = await closedAfter(t, makeTelephone())
    const { ended, paths } = await open(
      t,
      { '/begin': [{ verb: 'gather', num_digits: 4, timeout: 60, action: '/keys' }], '/keys': [] },
      [
        invite(await sdpOf(telephone)),
        ...trying,
        receive('200'),
        request('ACK', 1),
        pause(500),
        request('BYE', 2),
        receive('200'),
      ],
    )
    const cdr = await ended()
    assert.equal(cdr.status, 'COMPLETED')
    assert.deepEqual(paths(), ['/begin'])
  },
)

test(
  'hold and another codec are answered while a program plays, and the party hears the sound by that codec',
  needs('sipp'),
  async (t) => {
    const [first, second] = [await closedAfter(t, makeTelephone()), await closedAfter(t, makeTelephone('pcma'))]
    const { ended, hangUp, paths } = await open(t, { '/begin': [endless] }, [
      invite(await sdpOf(first)),
      ...trying,
      receive('200'),
      request('ACK', 1),
      request('INVITE', 2, await sdpOf(first, 'sendonly')),
      receive('100', 'optional="true"'),
      receiveWith(200, 'a=recvonly'),
      request('ACK', 2),
      request('INVITE', 3, await sdpOf(second)),
      receive('100', 'optional="true"'),
      receiveWith(200, 'a=rtpmap:8 PCMA'),
      request('ACK', 3),
      ...byeOfPlatform,
    ])
    await receivesTone(second, 440)
    await hangUp()
    assert.equal((await ended()).status, 'COMPLETED')
    assert.deepEqual(paths(), ['/begin'])
  },
)

test('a caller that sends its session description with the ACK hears its program', needs('sipp'), async (t) => {
  const telephone = await closedAfter(t, makeTelephone())
  const { ended, hangUp } = await open(t, { '/begin': [endless] }, [
    invite(),
    ...trying,
    receiveWith(200, 'm=audio [1-9][0-9]* RTP/AVP'),
    request('ACK', 1, await sdpOf(telephone)),
    ...byeOfPlatform,
  ])
  await receivesTone(telephone, 440)
  await hangUp()
  assert.equal((await ended()).status, 'COMPLETED')
})

test(
  'a caller that cancels during the request of its program ends the request and the call',
  needs('sipp'),
  async (t) => {
    const telephone = await closedAfter(t, makeTelephone())
    const gone = Promise.withResolvers<void>()
    const [port, callId] = [await freePort(), 'canceled-call']
    const { ended, paths } = await open(
      t,
      {
        '/begin': [
          { verb: 'ring', seconds: 0 },
          { verb: 'redirect', url: '/slow' },
        ],
        '/slow': (response) => {
          response.on('close', gone.resolve)
          wake(port, callId)
        },
      },
      [
        invite(await sdpOf(telephone)),
        receive('100', 'optional="true"'),
        receive('180'),
        receive('OPTIONS'),
        request('CANCEL', 1, undefined, { isWithin: false, via: 'invite' }),
        receive('200'),
        receive('487'),
        request('ACK', 1, undefined, { via: 'invite' }),
      ],
      { port, callId },
    )
    await gone.promise
    const cdr = await ended()
    assert.deepEqual([cdr.status, cdr.call_cost.call_price], ['MISSED', 0])
    assert.deepEqual(paths(), ['/begin', '/slow'])
    // Not the timeout of the request ended it, but the end of the call.
    const ms = await until(async () => {
      const { timeline } = (await call('GET', `/open/voip/call/${cdr.uuid}/timeline`)).body
      const entries: { detail?: { url?: string; ms?: number } }[] = timeline
      return entries.find(({ detail }) => detail?.url?.endsWith('/slow'))?.detail?.ms
    })
    assert.ok(ms < ordinaryProgramMs.native, `${ms} ms`)
  },
)
