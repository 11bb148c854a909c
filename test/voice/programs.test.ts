import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { dial, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { certificate } from '../certificate.ts'
import { makeStreamServer } from '../media/stream-server.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import { activeUsers, endedCall, freePortSettings, makeCaller, openBrowserUser, secondsOf } from './voice-fixture.ts'

// Calls that programs run: a program is a real HTTP server, and the telephone is a handset of the sandbox.

const openssl = needs('openssl')
const authority = join(temporaryFolder(), 'ca.pem')
/** Certificates of servers. The platform knows the issuers of the first two. */
const certificates = openssl.skip
  ? null
  : {
      known: certificate('IP:127.0.0.1'),
      ofOtherName: certificate('DNS:agent.example'),
      unknown: certificate('IP:127.0.0.1'),
    }
writeFileSync(authority, certificates ? certificates.known.cert + certificates.ofOtherName.cert : '')
const platform = await startPlatform(undefined, { ...freePortSettings, NODE_EXTRA_CA_CERTS: authority })
after(() => platform.end())
const { number } = await buyNumber(platform)
const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
const path = `/open/voip/virtual-numbers/${numbers[0].uuid}`

type Body = {
  readonly event: string
  readonly sequence: number
  readonly call?: { readonly direction: string; readonly from: string; readonly to: string }
  readonly verb: { readonly id: string | null } | null
  readonly result: {
    readonly digits?: string
    readonly reason?: string
    readonly code?: number | null
    readonly error_code?: string
  } | null
}
type Request = { readonly url: string; readonly body: Body }
const requests: Request[] = []
let answerTo: (request: Request) => unknown = () => []
const server = createServer(async (incoming, response) => {
  const request = { url: incoming.url ?? '', body: JSON.parse((await text(incoming)) || 'null') }
  requests.push(request)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(answerTo(request)))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo // it listens on TCP
after(() => void server.close())
const base = `http://127.0.0.1:${port}`

const handset = '+447700901250'
const { ring, seen, ended } = makeCaller(platform, handset, number)

test('a call to a number runs the menu of its program: keys choose, and the program hangs up', async () => {
  const changed = await platform.call('PUT', path, { voice: { kind: 'url', url: `${base}/menu` } })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  assert.equal(changed.body.number.voice.kind, 'url')
  const tone = { hertz: [1_000], on_ms: 500 }
  answerTo = ({ url, body }) => {
    if (url === '/menu')
      return [
        {
          verb: 'gather',
          id: 'menu',
          num_digits: 1,
          timeout: 20,
          action: '/chosen',
          prompts: [{ verb: 'play', tone, loop: 0 }],
        },
      ]
    if (body.result?.digits === '2') return [{ verb: 'play', tone: { hertz: [700], on_ms: 1_500 } }, { verb: 'hangup' }]
    return [{ verb: 'hangup' }]
  }
  const id = await ring()
  await until(async () => secondsOf((await seen(id)).tones, 1_000) > 0.3)
  assert.equal(
    (await platform.call('POST', `/sandbox/handsets/${handset}/calls/${id}/keys`, { digits: '2' })).status,
    202,
  )
  const call = await ended(id)
  assert.equal(call.state, 'completed')
  assert.ok(secondsOf(call.tones, 700) > 0.9, JSON.stringify(call.tones))
  assert.deepEqual(
    requests.map(({ url, body }) => [
      url,
      body.event,
      body.sequence,
      body.verb?.id ?? null,
      body.result?.digits ?? null,
    ]),
    [
      ['/menu', 'call.started', 1, null, null],
      ['/chosen', 'verb.completed', 2, 'menu', '2'],
    ],
  )
  const cdr = await endedCall(platform)
  assert.deepEqual([cdr.direction, cdr.status, cdr.from, cdr.to_number], ['I', 'COMPLETED', handset, number])
})

test('a browser calls a number of its account: its program runs, and the whole call is recorded', async (t) => {
  const voice = { kind: 'url', url: `${base}/own` }
  assert.equal((await platform.call('PUT', path, { voice, record_inbound: true })).status, 200)
  answerTo = () => [{ verb: 'play', tone: { hertz: [700], on_ms: 60_000 } }]
  const [ada = ''] = await activeUsers(platform)
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions(number), softphone)
  const session = await until(async () => dialled.session)
  softphone.sendTone(1_000)
  await receivesTone(softphone, 700)
  await session.bye()
  const { body } = requests.at(-1) ?? assert.fail()
  assert.deepEqual(
    [body.event, body.call?.direction, body.call?.from, body.call?.to],
    ['call.started', 'outbound', ada, number],
  )
  const cdr = await endedCall(platform, 2)
  assert.deepEqual(
    [cdr.direction, cdr.status, cdr.from, cdr.to_number, cdr.call_cost.call_price],
    ['O', 'COMPLETED', ada, number, 0],
  )
  const recording = await fetch(cdr.recording_url)
  assert.deepEqual([recording.status, recording.headers.get('content-type')], [200, 'audio/wav'])
  assert.ok((await recording.arrayBuffer()).byteLength > 16_000)
})

test('a stream goes over TLS to a server whose certificate has its name and a known issuer, and to no other', openssl, async (t) => {
  assert.ok(certificates)
  const [known, ofOtherName, unknown] = await Promise.all(
    [certificates.known, certificates.ofOtherName, certificates.unknown].map((pair) => makeStreamServer(true, pair)),
  )
  assert.ok(known && ofOtherName && unknown)
  for (const one of [known, ofOtherName, unknown]) t.after(one.close)
  await platform.call('PUT', path, { voice: { kind: 'url', url: `${base}/streams` } })
  requests.length = 0
  const streamTo = (url: string, action: string) => [{ verb: 'stream', url, action, on_error: 'action' }]
  const answers: Record<string, readonly object[]> = {
    '/streams': streamTo(unknown.url, '/unknown'),
    '/unknown': streamTo(ofOtherName.url, '/other-name'),
    '/other-name': streamTo(known.url, '/known'),
    '/known': [{ verb: 'hangup' }],
  }
  answerTo = ({ url }) => answers[url]
  const id = await ring()
  await until(async () => secondsOf((await seen(id)).tones, 620) > 0.3)
  known.streams[0]?.socket.close(4_000)
  assert.equal((await ended(id)).state, 'completed')
  assert.deepEqual(
    requests.map(({ url, body: { result } }) => [url, result?.reason, result?.code, result?.error_code]),
    [
      ['/streams', undefined, undefined, undefined],
      ['/unknown', 'unreachable', null, 'stream_unreachable'],
      ['/other-name', 'unreachable', null, 'stream_unreachable'],
      ['/known', 'closed', 4_000, undefined],
    ],
  )
  assert.deepEqual([unknown.streams, ofOtherName.streams], [[], []])
})
