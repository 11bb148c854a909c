import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld } from '../../../../test/world.ts'
import { makeOutboundPair } from '../../../platform/lib/outbound.ts'
import { maxSoundBytes } from '../limits.ts'
import { originOf } from './sound-download.ts'
import { amplitudeOf, linear, toneMp3, toneWav } from './sound-testing.ts'
import { makeSounds, type PreparedSound, type SoundFailure, type SoundsOptions } from './sounds.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: temporaryFolder() })
const { signal } = new AbortController()

type Respond = (request: IncomingMessage, response: ServerResponse, nth: number) => void
const pages = new Map<string, { readonly respond: Respond; readonly requests: IncomingMessage[] }>()
const server = createServer((request, response) => {
  const page = pages.get(request.url ?? '')
  if (!page) return void response.writeHead(404).end()
  page.requests.push(request)
  page.respond(request, response, page.requests.length)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close().closeAllConnections())
const { port } = server.address() as AddressInfo // it listens on TCP

let made = 0
/** A page of the server. */
const serve = (respond: Respond) => {
  const path = `/sound-${++made}`
  const requests: IncomingMessage[] = []
  pages.set(path, { respond, requests })
  return { url: `http://127.0.0.1:${port}${path}`, requests }
}

const make = ({
  home = temporaryFolder(),
  allowPrivate = true,
  ...options
}: SoundsOptions & { home?: string; allowPrivate?: boolean } = {}) => {
  const outbound = makeOutboundPair({ allowPrivate, http: true }, { allowPrivate, http: true })
  const sounds = makeSounds({ ...world.parts, outbound, config: { home }, media: world.parts.chat.media }, options)
  after(async () => {
    await sounds.close()
    outbound.close()
  })
  return { ...sounds, home }
}

const account = (await world.tenant()).id

const pathOf = (prepared: PreparedSound | SoundFailure): string => {
  if (!('sounds' in prepared)) return assert.fail(JSON.stringify(prepared))
  const [sound] = prepared.sounds
  return sound && 'file' in sound ? sound.file : assert.fail('no file')
}

const codeOf = (prepared: PreparedSound | SoundFailure): string =>
  'error_code' in prepared ? prepared.error_code : 'none'

test('a WAV or MP3 file by URL becomes µ-law of 8 kHz', async () => {
  const sounds = make()
  for (const content of [toneWav({ rate: 44_100, channels: 2 }), toneMp3]) {
    const { url } = serve((_, response) => response.end(content))
    const samples = linear(readFileSync(pathOf(await sounds.prepare(account, { url }, signal))))
    assert.ok(amplitudeOf(samples, 1_000) > 7_500)
  }
})

test('twenty calls that ask at once fetch once, and later ones not at all while the sound is fresh', async () => {
  const sounds = make()
  const { url, requests } = serve((_, response) => response.setHeader('cache-control', 'max-age=60').end(toneWav()))
  const prepared = await Promise.all(Array.from({ length: 20 }, () => sounds.prepare(account, { url }, signal)))
  assert.equal(new Set(prepared.map(pathOf)).size, 1)
  await sounds.prepare(account, { url }, signal)
  assert.equal(requests.length, 1)
})

test('a stale sound is asked for by its validators, and a changed one has a file of its own', async () => {
  const sounds = make({ cacheLimits: { total: 1e9, perAccount: 1e9, graceMs: 0 } })
  const { url, requests } = serve((request, response, nth) => {
    response.setHeader('cache-control', 'no-cache')
    if (nth < 3) response.setHeader('etag', '"one"').setHeader('last-modified', 'Sun, 29 Nov 2026 08:00:00 GMT')
    if (request.headers['if-none-match'] === '"one"' && nth === 2) response.writeHead(304).end()
    else response.end(toneWav({ hertz: nth === 1 ? 1_000 : 2_000 }))
  })
  const first = pathOf(await sounds.prepare(account, { url }, signal))
  assert.equal(pathOf(await sounds.prepare(account, { url }, signal)), first)
  assert.equal(requests[1]?.headers['if-modified-since'], 'Sun, 29 Nov 2026 08:00:00 GMT')
  const second = pathOf(await sounds.prepare(account, { url }, signal))
  assert.notEqual(second, first)
  assert.ok(amplitudeOf(linear(readFileSync(second)), 2_000) > 7_500)
  assert.equal(requests[2]?.headers['if-none-match'], '"one"')
  await until(async () => !existsSync(first))
})

test('how long a sound is fresh follows Cache-Control: five minutes without, at most 30 days', () => {
  const secondsOf = (control?: string) =>
    originOf(control === undefined ? {} : { 'cache-control': control }, 0).expiresAt / 1_000
  assert.equal(secondsOf(), 300)
  assert.equal(secondsOf('public, max-age=60'), 60)
  assert.equal(secondsOf('Max-Age="7"'), 7)
  assert.equal(secondsOf('max-age=60, no-cache'), 0)
  assert.equal(secondsOf('no-store'), 0)
  assert.equal(secondsOf('max-age=9999999999'), 2_592_000)
  assert.equal(originOf({ etag: '"a"', 'cache-control': 'no-store' }, 0).etag, null)
})

test('a sound that cannot be fetched is a failure with its code', async () => {
  const sounds = make()
  const prepare = async (respond: Respond) => sounds.prepare(account, { url: serve(respond).url }, signal)
  assert.deepEqual(await prepare((_, response) => response.writeHead(404).end()), {
    error_code: 'status',
    detail: 'its URL answered 404',
  })
  const moved = await prepare((_, response) => response.writeHead(302, { location: '/sound-1' }).end())
  assert.match(JSON.stringify(moved), /"status".*302: redirects are not followed/)
  assert.equal(codeOf(await prepare((_, response) => response.end('<html>'))), 'format')
  assert.equal(codeOf(await prepare((request) => request.socket.destroy())), 'unreachable')
  assert.equal(codeOf(await prepare((_, response) => response.end(toneWav().subarray(0, 3_000)))), 'format')
  const stated = await prepare((_, response) =>
    response.writeHead(200, { 'content-length': maxSoundBytes + 1 }).write('x'),
  )
  assert.equal(codeOf(stated), 'too_large')
  const endless = await prepare((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1_048_576)));
    }
    response.on('drain', more)
    more()
  })
  assert.equal(codeOf(endless), 'too_large')
  assert.equal(codeOf(await sounds.prepare(account, { url: 'http://127.0.0.1:1/closed' }, signal)), 'forbidden_address')
  assert.deepEqual(readdirSync(join(sounds.home, 'sounds/arriving')), [])
})

test('a sound at an address of a private network is refused', async () => {
  const sounds = make({ allowPrivate: false })
  const { url, requests } = serve((_, response) => response.end(toneWav()))
  const refused = await sounds.prepare(account, { url }, signal)
  assert.equal(codeOf(refused), 'forbidden_address')
  assert.match(JSON.stringify(refused), /loopback/)
  assert.equal(requests.length, 0)
})

test('a slow sound is given up in time, and its fetch goes on for the next call', async () => {
  const sounds = make({ readyMs: 100 })
  const answers: ServerResponse[] = []
  const { url, requests } = serve((_, response) => void answers.push(response))
  assert.equal(codeOf(await sounds.prepare(account, { url }, signal)), 'timeout')
  await until(async () => answers.length === 1)
  answers[0]?.end(toneWav())
  await until(async () => codeOf(await sounds.prepare(account, { url }, signal)) === 'none')
  assert.equal(requests.length, 1)
})

test('slow addresses of an account delay neither its texts nor the sounds of others', async () => {
  const sounds = make({ readyMs: 2_000, speaker: Promise.resolve(null) })
  const other = (await world.tenant()).id
  const leaving = new AbortController()
  const slow = Array.from({ length: 120 }, () => sounds.prepare(account, { url: serve(() => {}).url }, leaving.signal))
  const ended = Promise.allSettled(slow)
  assert.equal(
    codeOf(await sounds.prepare(account, { url: serve(() => {}).url }, signal)),
    'timeout',
    'the queue is full',
  )
  const { url } = serve((_, response) => response.end(toneWav()))
  assert.equal(codeOf(await sounds.prepare(other, { url }, signal)), 'none')
  const text = { text: 'Hello.', language: null, voice: null }
  assert.equal(codeOf(await sounds.prepare(account, text, signal)), 'none')
  leaving.abort()
  await ended
})

test('a call that ends does not wait for its sound', async () => {
  const sounds = make()
  const { url } = serve(() => {})
  const ending = new AbortController()
  const prepared = sounds.prepare(account, { url }, ending.signal)
  ending.abort(new Error('hung up'))
  await assert.rejects(prepared, /hung up/)
  await assert.rejects(sounds.prepare(account, { url }, ending.signal), /hung up/)
})

test('sounds survive a restart, and what a crash left of others does not', async () => {
  const first = make()
  const { url, requests } = serve((_, response) => response.end(toneWav()))
  const path = pathOf(await first.prepare(account, { url }, signal))
  await first.close()
  const { home } = first
  mkdirSync(join(home, 'sounds/arriving'), { recursive: true })
  writeFileSync(join(home, 'sounds/arriving/partial'), 'x')
  writeFileSync(join(home, 'sounds', account, `${'0'.repeat(64)}.json`), '{}')
  const second = make({ home })
  assert.equal(pathOf(await second.prepare(account, { url }, signal)), path)
  assert.equal(requests.length, 1)
  assert.deepEqual(readdirSync(join(home, 'sounds/arriving')), [])
  assert.equal(readdirSync(join(home, 'sounds', account)).length, 2)
  // A file that was cut by hand is not played.
  truncateSync(path, 100)
  assert.equal(readFileSync(pathOf(await second.prepare(account, { url }, signal))).length, 4_000)
  assert.equal(requests.length, 2)
})

test('the cache deletes what was not used for longest, and an account only sounds of its own share', async () => {
  // A sound of half a second takes two blocks.
  const sounds = make({ cacheLimits: { total: 5 * 8_192, perAccount: 3 * 8_192, graceMs: -1 } })
  const other = (await world.tenant()).id
  const fetch = async (who: string, page: ReturnType<typeof serve>) =>
    pathOf(await sounds.prepare(who, { url: page.url }, signal))
  const page = () => serve((_, response) => response.end(toneWav()))
  const theirs = await fetch(other, page())
  const [a, b] = [page(), page()]
  const paths = [await fetch(account, a), await fetch(account, b), await fetch(account, page())]
  await fetch(account, a)
  for (let n = 0; n < 4; n++) await fetch(account, page())
  assert.ok(existsSync(theirs), 'another account keeps its sounds')
  assert.ok(!existsSync(paths[0] ?? '') && !existsSync(paths[1] ?? ''))
  assert.equal(readdirSync(join(sounds.home, 'sounds', account)).filter((name) => name.endsWith('.ulaw')).length, 3)
  await fetch(account, a)
  assert.equal(a.requests.length, 2, 'a deleted sound is fetched again')
})

test('sounds that nobody has used for 30 days are deleted with the next one, in every account', async () => {
  const first = make()
  const page = () => serve((_, response) => response.end(toneWav()))
  const other = (await world.tenant()).id
  const [old, recent] = [
    pathOf(await first.prepare(other, { url: page().url }, signal)),
    pathOf(await first.prepare(account, { url: page().url }, signal)),
  ]
  await first.close()
  const month = 30 * 86_400
  const now = Date.now() / 1_000
  utimesSync(old, now - month - 60, now - month - 60)
  utimesSync(recent, now - month + 3_600, now - month + 3_600)
  const second = make({ home: first.home })
  await second.prepare(account, { url: page().url }, signal)
  assert.deepEqual([existsSync(old), existsSync(recent)], [false, true])
  assert.deepEqual(readdirSync(join(first.home, 'sounds', other)), [])
})

test('a sound that a player may be about to open stays beyond the limits', async () => {
  const sounds = make({ cacheLimits: { total: 1, perAccount: 1, graceMs: 60_000 } })
  const paths = []
  for (let n = 0; n < 3; n++) {
    const { url } = serve((_, response) => response.end(toneWav()))
    paths.push(pathOf(await sounds.prepare(account, { url }, signal)))
  }
  assert.ok(paths.every((path) => existsSync(path)))
})

test('accounts do not share the sounds of an address', async () => {
  const sounds = make()
  const other = (await world.tenant()).id
  const { url, requests } = serve((_, response) => response.end(toneWav()))
  const mine = pathOf(await sounds.prepare(account, { url }, signal))
  const theirs = pathOf(await sounds.prepare(other, { url }, signal))
  assert.notEqual(mine, theirs)
  assert.equal(requests.length, 2)
})
