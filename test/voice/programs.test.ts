import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { endedCall, freePortSettings, makeCaller, secondsOf } from './voice-fixture.ts'

// Calls that programs run: a program is a real HTTP server, and the telephone is a handset of the sandbox.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const { number } = await buyNumber(platform)
const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
const path = `/open/voip/virtual-numbers/${numbers[0].uuid}`

type Body = {
  readonly event: string
  readonly sequence: number
  readonly verb: { readonly id: string | null } | null
  readonly result: { readonly digits?: string } | null
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
