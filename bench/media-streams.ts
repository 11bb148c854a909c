import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import { certificate } from '../test/certificate.ts'
import { type LightPeer, makeLightPeer } from '../test/media/light-peer.ts'
import { benchRun, UsageError } from './bench.ts'
import { table } from './lib.ts'
import type { StreamEngineRequest, StreamEngineResponse } from './stream-engine.ts'
import { cpuSeconds } from './usage.ts'

/**
 * Measures two-way media streams: telephones speak 50 packets a second, and a server sends every frame back. Each packet
 * has a number, which passes the engine unchanged. Telephones and server share a process and a clock; the engine, with
 * one worker, has its own. Streams go over TLS, as those of programs do; the engine checks the certificate.
 */
const run = benchRun()
const { rounds, seconds } = run
const count = run.number('streams')

type Protocol = 'wss' | 'ws'

const isProtocol = (word: string): word is Protocol => word === 'wss' || word === 'ws'

const protocols = run.word('protocols').split(',').filter(isProtocol)
const [protocol] = protocols
if (!protocol || protocols.join() !== run.word('protocols'))
  throw new UsageError(`--protocols needs wss, ws or wss,ws, not ${run.word('protocols')}.`)

const pair = certificate('IP:127.0.0.1')
const folder = mkdtempSync(join(tmpdir(), 'bench-'))
const authority = join(folder, 'ca.pem')
writeFileSync(authority, pair.cert)

type UnnumberedRequest = {
  [A in StreamEngineRequest['ask']]: Omit<Extract<StreamEngineRequest, { ask: A }>, 'id'>
}[StreamEngineRequest['ask']]

const startEngine = async () => {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority }
  const child = fork(join(import.meta.dirname, 'stream-engine.ts'), { env })
  await once(child, 'message')
  const waiting = new Map<number, (value: string) => void>()
  child.on('message', ({ id, value }: StreamEngineResponse) => {
    waiting.get(id)?.(value)
    waiting.delete(id)
  })
  let last = 0
  const ask = (order: UnnumberedRequest) => {
    const id = ++last
    return { id, value: new Promise<string>((resolve) => waiting.set(id, resolve) && child.send({ ...order, id })) }
  }
  return { pid: child.pid ?? 0, ask, stop: () => child.kill() }
}

type Engine = Awaited<ReturnType<typeof startEngine>>

const frameBytes = 160
const marker = 0x20

/** A frame with a number: three octets of base 100 that are not silence, and a marker. */
const frameOf = (number: number): Buffer => {
  const frame = Buffer.alloc(frameBytes, marker)
  for (let at = 0, rest = number; at < 3; at++, rest = Math.floor(rest / 100)) frame[at] = 1 + (rest % 100)
  return frame
}

/** Returns the number of a frame; null for silence. */
const numberOf = (frame: Buffer): number | null =>
  frame[4] === marker ? [2, 1, 0].reduce((number, at) => number * 100 + (frame[at] ?? 1) - 1, 0) : null

/** Milliseconds of packets and frames by their numbers, of one telephone. */
type Times = { readonly spoken: Float64Array; readonly served: Float64Array; readonly heard: Float64Array }

const most = 1_000_000
const timesOf = (): Times => {
  const length = Math.min(most, (seconds + 30) * 60)
  return { spoken: new Float64Array(length), served: new Float64Array(length), heard: new Float64Array(length) }
}

type Line = {
  readonly peer: LightPeer
  readonly call: number
  readonly times: Times
  socket: WebSocket | null
  stream: string
  /** Called with each packet that the telephone hears. */
  heard: (frame: Buffer) => void
}

const lines = new Map<string, Line>()
let isEcho = true

const listeners = { wss: createSecureServer(pair), ws: createServer() }
const server = new WebSocketServer({ noServer: true })
for (const listener of Object.values(listeners)) {
  listener.on('upgrade', (request, socket, head) =>
    server.handleUpgrade(request, socket, head, (client) => server.emit('connection', client, request)),
  )
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
}

const urlOf = (by: Protocol, path: string): string => {
  const { port } = listeners[by].address() as AddressInfo // it listens on TCP
  return `${by}://127.0.0.1:${port}${path}`
}

server.on('connection', (socket, { url = '' }) => {
  const line = lines.get(url)
  if (!line) return socket.terminate()
  line.socket = socket
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString())
    if (frame.event === 'start') line.stream = frame.streamSid
    if (frame.event !== 'media') return
    const number = numberOf(Buffer.from(frame.media.payload, 'base64'))
    if (number === null) return
    line.times.served[number] ||= performance.now()
    if (isEcho)
      socket.send(JSON.stringify({ event: 'media', streamSid: line.stream, media: { payload: frame.media.payload } }))
  })
})

/** @param by protocol of the call's stream; null for a call without one */
const openLine = async (engine: Engine, by: Protocol | null): Promise<Line> => {
  const times = timesOf()
  const ears = { heard: (_: Buffer) => {} }
  const peer = await makeLightPeer('rtp', {
    frame: (number) => {
      times.spoken[number] = performance.now()
      return frameOf(number)
    },
    heard: (payload) => ears.heard(payload),
  })
  const offered = engine.ask({ ask: 'offer', sdp: await peer.offer() })
  const line: Line = Object.assign(ears, { peer, call: offered.id, times, socket: null, stream: '' })
  line.heard = (payload) => {
    const number = numberOf(payload)
    if (number !== null) times.heard[number] ||= performance.now()
  }
  await peer.accept(await offered.value)
  const path = `/${offered.id}`
  lines.set(path, line)
  await engine.ask({ ask: 'begin', call: line.call, url: by === null ? null : urlOf(by, path) }).value
  return line
}

const openLines = async (engine: Engine, lineCount: number, by: Protocol | null): Promise<Line[]> => {
  const open: Line[] = []
  for (let i = 0; i < lineCount; i++) {
    const line = await openLine(engine, by)
    open.push(line)
    line.peer.startSending()
    // Spreads the calls over the 20 ms interval, as in practice.
    await setTimeout(1)
  }
  await setTimeout(1_000)
  return open
}

const closeLines = async (engine: Engine, open: readonly Line[]): Promise<void> => {
  for (const { peer, call } of open) {
    peer.stopSending()
    await engine.ask({ ask: 'end', call }).value
    await peer.close()
  }
  lines.clear()
}

type Spread = { readonly p50: number; readonly p95: number; readonly p99: number }

const spreadOf = (values: readonly number[]): Spread => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** Milliseconds between two times of each packet. */
const delays = (open: readonly Line[], from: keyof Times, to: keyof Times, first: readonly number[]): Spread =>
  spreadOf(
    open.flatMap(({ times }, line) => {
      const [begun, ended] = [times[from], times[to]]
      return Array.from(ended, (at, i) => (i >= (first[line] ?? 0) && at > 0 ? at - (begun[i] ?? 0) : -1)).filter(
        (ms) => ms >= 0,
      )
    }),
  )

type Figures = {
  readonly toServer: Spread
  readonly toTelephone: Spread
  readonly roundTrip: Spread
  /** Share of the spoken packets that did not come back. */
  readonly loss: number
  /** Share of a core. */
  readonly cpu: number
}

const measure = async (engine: Engine, lineCount: number, by: Protocol): Promise<Figures> => {
  const open = await openLines(engine, lineCount, by)
  const first = open.map(({ peer }) => peer.sent)
  const used = cpuSeconds(engine.pid)
  await setTimeout(seconds * 1_000)
  const cpu = (cpuSeconds(engine.pid) - used) / seconds
  const last = open.map(({ peer }) => peer.sent)
  // The last packets come back.
  await setTimeout(1_000)
  const lost = open.reduce(
    (sum, { times }, i) => sum + times.heard.subarray(first[i], last[i]).filter((at) => at === 0).length,
    0,
  )
  const spoken = last.reduce((sum, one, i) => sum + one - (first[i] ?? 0), 0)
  const figures = {
    toServer: delays(open, 'spoken', 'served', first),
    toTelephone: delays(open, 'served', 'heard', first),
    roundTrip: delays(open, 'spoken', 'heard', first),
    loss: lost / spoken,
    cpu,
  }
  await closeLines(engine, open)
  return figures
}

/** The share of a core for the same calls, each of which plays a tone in place of a stream. */
const measurePlain = async (engine: Engine, lineCount: number): Promise<number> => {
  const open = await openLines(engine, lineCount, null)
  const used = cpuSeconds(engine.pid)
  await setTimeout(seconds * 1_000)
  const cpu = (cpuSeconds(engine.pid) - used) / seconds
  await closeLines(engine, open)
  return cpu
}

/** Milliseconds from a first frame to its packet, and from `clear` to the first silent packet, 40 times. */
const measureClear = async (
  engine: Engine,
  by: Protocol,
): Promise<{ readonly first: Spread; readonly clear: Spread }> => {
  isEcho = false
  const [line] = await openLines(engine, 1, by)
  if (!line?.socket) throw new Error('the stream is not open')
  const { socket, stream } = line
  const say = (frame: object) => socket.send(JSON.stringify({ streamSid: stream, ...frame }))
  const sound = Buffer.alloc(frameBytes * 500, marker).toString('base64')
  const hear = (isWanted: (frame: Buffer) => boolean) =>
    new Promise<number>((resolve) => {
      line.heard = (frame) => {
        if (isWanted(frame)) resolve(performance.now())
      }
    })
  const [firsts, clears]: [number[], number[]] = [[], []]
  for (let i = 0; i < 40; i++) {
    const spoken = performance.now()
    say({ event: 'media', media: { payload: sound } })
    firsts.push((await hear((frame) => frame[0] === marker)) - spoken)
    // At any moment between two ticks.
    await setTimeout(100 + (i % 20))
    const began = performance.now()
    say({ event: 'clear' })
    clears.push((await hear((frame) => frame[0] !== marker)) - began)
  }
  await closeLines(engine, [line])
  isEcho = true
  return { first: spreadOf(firsts), clear: spreadOf(clears) }
}

const ms = (value: number): string => `${value.toFixed(1)} ms`
const rows: string[][] = []
const note = (what: string, { p50, p95, p99 }: Spread) => rows.push([what, ms(p50), ms(p95), ms(p99)])
const noteAll = (what: string, { toServer, toTelephone, roundTrip }: Figures) => {
  note(`${what}: packet in to frame at the server`, toServer)
  note(`${what}: frame sent to packet at the telephone`, toTelephone)
  note(`${what}: round trip`, roundTrip)
}

/** Measures streams by a protocol. The second one of a run has fewer figures. @param plain share of a core without streams */
const measureStreams = async (by: Protocol, plain: number): Promise<void> => {
  const alone = await measure(engine, 1, by)
  const { first, clear } = await measureClear(engine, by)
  const many = await measure(engine, count, by)
  noteAll(`one stream, ${by}`, alone)
  noteAll(`${count} streams, ${by}`, many)
  note(`first frame of a sound to its packet, ${by}`, first)
  note(`clear to the first silent packet, ${by}`, clear)
  if (by !== protocol) {
    run.record({ 'ws.extra': (many.cpu - plain) * 100, 'ws.roundTrip': many.roundTrip.p95 })
    return
  }
  run.record({
    roundTrip: alone.roundTrip.p95,
    roundTripTail: alone.roundTrip.p99,
    first: first.p95,
    clear: clear.p95,
    'many.toServer': many.toServer.p95,
    'many.toTelephone': many.toTelephone.p95,
    'many.roundTrip': many.roundTrip.p95,
    'many.roundTripTail': many.roundTrip.p99,
    'many.loss': many.loss * 100,
    'many.cpu': many.cpu * 100,
    'many.plain': plain * 100,
    'many.extra': (many.cpu - plain) * 100,
  })
}

const engine = await startEngine()
for (let round = 0; round < rounds; round++) {
  const plain = await measurePlain(engine, count)
  for (const by of protocols) await measureStreams(by, plain)
}
engine.stop()
for (const listener of Object.values(listeners)) listener.close()
rmSync(folder, { recursive: true })

console.log(`\nTwo-way streams of G.711 through one worker, ${seconds} s each\n`)
table(['delay', 'p50', 'p95', 'p99'], rows)
