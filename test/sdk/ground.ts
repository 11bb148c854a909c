import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type GatewaySettings, startGateway } from '../../src/connectors/sip/gateway/gateway.ts'
import { type Decide, makeDesk, openCarrier, trunkOf } from '../../src/connectors/sip/gateway/testing.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

// The browser SDK as it is built, in a real browser, against a gateway of ours: what is tested here is what people load.

export const sdkFile = join(import.meta.dirname, '../../packages/voice-sdk/dist/voice.js')

/** 16-bit mono, 48,000 samples a second: what a microphone hears. */
const toneFile = (hertz: number): string => {
  const samples = Buffer.alloc(48_000 * 2)
  for (let i = 0; i < 48_000; i++) samples.writeInt16LE(12_000 * Math.sin((2 * Math.PI * hertz * i) / 48_000), 2 * i)
  const header = Buffer.alloc(44)
  header.write('RIFF')
  header.writeUInt32LE(36 + samples.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(48_000, 24)
  header.writeUInt32LE(96_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(samples.length, 40)
  const file = join(temporaryFolder(), 'tone.wav')
  writeFileSync(file, Buffer.concat([header, samples]))
  return file
}

/** Chromium with microphones that all hear a tone of 1,000 Hz, and are allowed. */
export const openChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
      ...['--allow-loopback-in-peer-connection', '--autoplay-policy=no-user-gesture-required'],
      ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
      `--use-file-for-fake-audio-capture=${toneFile(1_000)}`,
    ],
  })

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token as far as a browser reads it. @param seconds until it ends */
export const tokenOf = (user: string, seconds: number, issuer: string, more = {}): string => {
  const exp = Math.floor(Date.now() / 1_000) + seconds
  return `${encode({ alg: 'none' })}.${encode({ iss: issuer, sub: user, exp, ...more })}.none`
}

const claimsOf = (request: IncomingMessage): { sub: string; exp: number } | null => {
  const [, payload = ''] = (request.headers.authorization ?? '').split('.')
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  } catch {
    return null
  }
}

/**
 * What listens in each page: notes every event, and measures what is heard. Without the browser's own filters of sound,
 * which take a steady tone for noise.
 */
const script = `
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
  navigator.mediaDevices.getUserMedia = ({ audio }) => open({ audio: {
    ...(audio === true ? {} : audio), echoCancellation: false, noiseSuppression: false, autoGainControl: false } })
  globalThis.seen = []
  const note = (what, about) => seen.push({ what, about: about === undefined ? null : about })
  const names = ['ringing', 'accepted', 'disconnect', 'mute', 'hold', 'error']
  globalThis.watch = (call) => {
    globalThis.call = call
    for (const name of names) call.on(name, (about) =>
      note('call ' + name, about instanceof Error ? { code: about.code, message: about.message } : about))
    call.on('quality', (quality) => { globalThis.quality = quality })
    return call
  }
  globalThis.start = async (options) => {
    const device = new Trunkline.Device(options)
    globalThis.device = device
    for (const name of ['registered', 'unregistered', 'tokenWillExpire', 'reconnecting', 'reconnected'])
      device.on(name, (about) => note(name, about))
    device.on('error', ({ code }) => note('error', code))
    device.on('incoming', (call) => { note('incoming', call.remoteIdentity); watch(call) })
    await device.register()
  }
  globalThis.dial = async (dial) => { watch(await device.connect(dial)) }
  globalThis.attempt = (promise) => promise.then(() => 'done', ({ name, code }) => name + ' ' + code)
  let ear, audio
  globalThis.peak = () => {
    const track = call.session.connection.getReceivers()[0]?.track
    if (!track) return { hertz: 0, level: -200 }
    if (ear?.track !== track) {
      audio ??= new AudioContext()
      ear = Object.assign(new AnalyserNode(audio, { fftSize: 8192, smoothingTimeConstant: 0 }), { track })
      audio.createMediaStreamSource(new MediaStream([track])).connect(ear)
    }
    const bins = new Float32Array(ear.frequencyBinCount)
    ear.getFloatFrequencyData(bins)
    let best = 1
    for (let i = 1; i < bins.length; i++) if (bins[i] > bins[best]) best = i
    return { hertz: (best * audio.sampleRate) / ear.fftSize, level: Math.max(-200, bins[best]) }
  }
`

export type Seen = { readonly what: string; readonly about: unknown }

/** A page with a Device in it. */
export type Tab = {
  readonly page: Page
  /** Runs what a page would: `device`, `call`, `dial`, `attempt` are there. */
  run<T = unknown>(code: string): Promise<T>
  seen(what?: string): Promise<Seen[]>
  /** Waits until something happened so many times. */
  saw(what: string, times?: number): Promise<unknown>
  hears(hertz: number): Promise<unknown>
}

/** A gateway behind a web server, which hands out pages and credentials; one carrier behind it. */
export const openGround = async (
  t: TestContext,
  browser: Browser,
  decide: Decide,
  settings: Pick<GatewaySettings, 'media'> & Partial<GatewaySettings>,
) => {
  const desk = makeDesk(decide)
  const registers: string[] = []
  const generations = new Map<string, number>()
  const refusals = new Map<string, { status: number; error_message: string }>()
  const gateway = await startGateway({
    ...{ bind: '127.0.0.1', port: 0, domain: 'us.test', realm: 'us.test', secret: 's', desk: desk.desk },
    fault: (error) => console.error(error),
    ...settings,
  })
  const credentials = async (request: IncomingMessage, response: ServerResponse, url: string) => {
    const claims = claimsOf(request)
    const refused = claims && refusals.get(claims.sub)
    const isStale = !claims || claims.exp * 1_000 <= Date.now()
    const { renew } = JSON.parse((await text(request)) || '{}')
    if (refused || isStale) {
      response.writeHead(refused ? refused.status : 401, { 'content-type': 'application/json' })
      response.end(JSON.stringify(refused ?? { error_message: 'The token is wrong' }))
      return
    }
    const { sub, exp } = claims
    const generation = (generations.get(sub) ?? 0) + (renew && generations.has(sub) ? 0 : 1)
    generations.set(sub, generation)
    const username = `${exp * 1_000}:${sub}`
    const sip = {
      uri: `sip:${sub}@us.test`,
      ws_url: `${url.replace('http', 'ws')}/voice`,
      realm: 'us.test',
      generation,
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ sip: { ...sip, username, password: `password of ${username}` }, ice_servers: [] }))
  }
  /** Further pages by their path. */
  const shown = new Map<string, string>()
  const http = createServer((request, response) => {
    if (request.url === '/open/sdk/credentials') void credentials(request, response, url)
    else if (request.url === '/sdk/voice.js') response.end(readFileSync(sdkFile))
    else {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end(
        shown.get(request.url ?? '') ?? '<!doctype html><title>page</title><script src="/sdk/voice.js"></script>',
      )
    }
  })
  const sockets = new Set<Duplex>()
  let open: typeof gateway | null = gateway
  http.on('upgrade', (request, socket, head) => {
    sockets.add(socket)
    if (open) void open.open(request, socket, head)
    else socket.destroy()
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const address = http.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const pages: Page[] = []
  t.after(async () => {
    for (const page of pages) await page.close()
    await gateway.close(0)
    http.closeAllConnections()
    http.close()
  })
  const carrier = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port)])
  await until(async () => gateway.trunk('carrier')?.state === 'up')

  /** @param user letters only @returns a page whose Device is registered unless told otherwise */
  const tab = async (user: string, options: object = {}, seconds = 3_600, isStarted = true): Promise<Tab> => {
    const page = await browser.newPage()
    pages.push(page)
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => {
        const said = payload.toString()
        if (said.startsWith('REGISTER')) registers.push(said)
      })
    })
    page.on('pageerror', (error) => console.error(error))
    await page.addInitScript(script)
    await page.goto(`${url}/`)
    const run = <T>(code: string): Promise<T> => page.evaluate(code)
    const seen = async (what?: string): Promise<Seen[]> => {
      const all = await run<Seen[]>('seen')
      return what === undefined ? all : all.filter((one) => one.what === what)
    }
    const given = { token: tokenOf(user, seconds, url), ...options }
    if (isStarted) await run(`start(${JSON.stringify(given)})`)
    return {
      page,
      run,
      seen,
      saw: (what, times = 1) =>
        until(async () => {
          const found = await seen(what)
          return found.length >= times && (found.at(-1)?.about ?? true)
        }),
      hears: (hertz) =>
        until(async () => {
          const { hertz: heard, level } = await run<{ hertz: number; level: number }>('peak()')
          return Math.abs(heard - hertz) < 12 && level > -45
        }),
    }
  }
  return {
    ...{ desk, gateway, carrier, url, registers, refusals, generations, sockets, shown, tab },
    /** Breaks every connection; new ones break at once, until they are mended. */
    cut: () => {
      open = null
      for (const socket of sockets) socket.destroy()
    },
    /** @param to another gateway that has the place of this one from now on */
    mend: (to = gateway) => {
      open = to
    },
  }
}
