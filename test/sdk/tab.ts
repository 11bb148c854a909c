import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { callFlags, launchChromium } from '../chromium.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

/** The input of microphones: 1,000 Hz, 16-bit mono, 48,000 samples a second. */
const makeTone = (): string => {
  const hertz = 1_000
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

let tone: string | undefined

/** Chromium with permitted microphones that all produce a tone of 1,000 Hz. */
export const openChromium = (executablePath?: string): Promise<Browser> => {
  const microphones = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']
  // One file for the whole process, so that its test files share the browser.
  tone ??= makeTone()
  return launchChromium([...callFlags, ...microphones, `--use-file-for-fake-audio-capture=${tone}`], executablePath)
}

/**
 * Runs in each page: records every event and measures the received sound. The browser's own audio filters are off,
 * because they treat a steady tone as noise.
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
  globalThis.describeMedia = async () => {
    const kinds = ['inbound-rtp', 'outbound-rtp', 'candidate-pair', 'transport']
    const stats = [...(await call.session.connection.getStats()).values()]
    return JSON.stringify([peak(), ...stats.filter(({ type }) => kinds.includes(type))])
  }
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

export type PageEvent = { readonly what: string; readonly about: unknown }

/** A page with a Device in it. */
export type Tab = {
  readonly page: Page
  /** Answers to keep-alives. */
  pongs(): number
  /** Runs a script in the page, with `device`, `call`, `dial` and `attempt` in scope. */
  run<T = unknown>(code: string): Promise<T>
  events(what?: string): Promise<PageEvent[]>
  /** Waits until an event happened this number of times. */
  waitForEvent(what: string, times?: number): Promise<unknown>
  waitForTone(hertz: number): Promise<unknown>
}

/**
 * Opens a page with the SDK, ready to start a Device.
 * @param registers receives every REGISTER that the page sends
 */
export const openTab = async (
  t: TestContext,
  browser: Browser,
  address: string,
  registers: string[] = [],
): Promise<Tab> => {
  const page = await browser.newPage()
  let pongs = 0
  t.after(() => page.close())
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => {
      const said = payload.toString()
      if (said.startsWith('REGISTER')) registers.push(said)
    })
    socket.on('framereceived', ({ payload }) => {
      if (payload.toString() === '\r\n') pongs++
    })
  })
  page.on('pageerror', (error) => console.error(error))
  await page.addInitScript(script)
  await page.goto(address)
  const run = <T>(code: string): Promise<T> => page.evaluate(code)
  const seen = async (what?: string): Promise<PageEvent[]> => {
    const all = await run<PageEvent[]>('seen')
    return what === undefined ? all : all.filter((one) => one.what === what)
  }
  return {
    page,
    pongs: () => pongs,
    run,
    events: seen,
    waitForEvent: (what, times = 1) =>
      until(
        async () => {
          const found = await seen(what)
          return found.length >= times && (found.at(-1)?.about ?? true)
        },
        60,
        50,
      ),
    waitForTone: (hertz) =>
      until(
        async () => {
          const { hertz: heard, level } = await run<{ hertz: number; level: number }>('peak()')
          return Math.abs(heard - hertz) < 12 && level > -45
        },
        60,
        100,
      ).catch(async (error: Error) => {
        throw new Error(`no tone of ${hertz} Hz: ${await run('describeMedia()')}`, { cause: error })
      }),
  }
}
