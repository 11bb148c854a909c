import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type {
  MediaCall,
  MediaEngine,
  MediaEvents,
  MediaFeed,
  MediaLeg,
  MediaRecorder,
  MediaResult,
} from '../../../ports/media.ts'
import { done, errorMessage, refused } from '../result.ts'
import { type PortRange, rangeShare } from './udp-ports.ts'
import { type MediaWorker, WorkerPool } from './worker-pool.ts'
import type { WorkerSettings } from './worker-protocol.ts'

export type EmbeddedSettings = {
  /** Local IP address of the sockets, and the address that peers see. */
  readonly bind: string
  readonly advertised: string
  /** Whether browsers on this machine may use another of its addresses too. Default: no. */
  readonly offersOwnAddress?: boolean
  /** A plain leg uses two ports of `rtpPorts`; a browser's leg uses one of `webrtcPorts`. */
  readonly rtpPorts: PortRange
  readonly webrtcPorts: PortRange
  /** Number of worker threads. Default: the number of cores minus one. */
  readonly workers?: number
  readonly callsPerWorker?: number
  readonly silenceSeconds?: number
  /** Seconds without a call after which a worker thread ends. Default: 60. */
  readonly idleSeconds?: number
  /** Called with errors that belong to no request. */
  readonly fault: (reason: string) => void
}

/** Measured: 100 recorded browser calls used 23 % of a core without loss. The rest is for slow machines and setups. */
const defaultCalls = 100

const feedOf = (worker: MediaWorker, call: string, leg: string, feed: string): MediaFeed => ({
  // A view would be sent with all the memory behind it.
  push: (chunk) => worker.request(call, 'pushFeed', { leg, feed, chunk: new Uint8Array(chunk) }),
  end: () => worker.request(call, 'endFeed', { leg, feed }),
  clear: () => worker.request(call, 'clearFeed', { leg, feed }),
})

const legOf = (worker: MediaWorker, call: string, leg: string): MediaLeg => ({
  id: leg,
  describe: () => worker.request(call, 'describe', { leg }),
  accept: (answer, source) => worker.request(call, 'accept', { leg, answer, source: source ?? null }),
  renegotiate: (offer) => worker.request(call, 'renegotiate', { leg, offer }),
  reoffer: (direction) => worker.request(call, 'reoffer', { leg, direction }),
  sendKeys: (digits) => worker.request(call, 'press', { leg, digits }),
  listenForKeys: () => worker.request(call, 'listenForKeys', { leg }),
  listenForSpeech: (options) => worker.request(call, 'listenForSpeech', { leg, options }),
  listen: (of, listener) => worker.listen(call, leg, of, listener),
  playTone: (hertz) =>
    hertz === null ? worker.request(call, 'stopSounds', { leg }) : worker.request(call, 'playTone', { leg, hertz }),
  play: (sounds) => worker.request(call, 'play', { leg, sounds }),
  stopSounds: () => worker.request(call, 'stopSounds', { leg }),
  openFeed: async (feed) => {
    const opened = await worker.request(call, 'openFeed', { leg, feed })
    return opened.outcome === 'done' ? done(feedOf(worker, call, leg, feed)) : opened
  },
  openStream: (options, events) => worker.openStream(call, leg, options, events),
})

/** Id of the recording of a call by `startRecording`. */
const wholeCall = 'call'

const recorderOf = (worker: MediaWorker, call: string, recording: string): MediaRecorder => ({
  pause: (fill) => worker.request(call, 'pauseRecording', { recording, fill }),
  resume: () => worker.request(call, 'pauseRecording', { recording, fill: null }),
  stop: () => worker.request(call, 'stopRecording', { recording }),
})

const callOf = (worker: MediaWorker, call: string): MediaCall => ({
  addLeg: async (options) => {
    const added = await worker.request(call, 'addLeg', options)
    return added.outcome === 'done' ? done(legOf(worker, call, options.id)) : added
  },
  bridge: (one, other) => worker.request(call, 'bridge', { one: one.id, other: other.id }),
  unbridge: ({ id }) => worker.request(call, 'unbridge', { leg: id }),
  removeLeg: ({ id }) => worker.request(call, 'removeLeg', { leg: id }),
  startRecording: (path, left, right) =>
    worker.request(call, 'startRecording', {
      recording: wholeCall,
      path,
      left: { leg: left.id, of: 'said' },
      right: { leg: right.id, of: 'said' },
    }),
  stopRecording: () => worker.request(call, 'stopRecording', { recording: wholeCall }),
  record: async (path, left, right) => {
    const recording = randomUUID()
    const begun = await worker.request(call, 'startRecording', {
      recording,
      path,
      left: { leg: left.leg.id, of: left.of },
      right: right && { leg: right.leg.id, of: right.of },
    })
    return begun.outcome === 'done' ? done(recorderOf(worker, call, recording)) : begun
  },
  stats: () => worker.request(call, 'stats', null),
  close: () => worker.end(call),
})

/**
 * The media engine in threads of this process: ICE-lite, DTLS-SRTP and plain RTP. A call lives in one thread. Threads
 * start with the first call and end when they are idle. If a thread dies, its calls end with `failed(null)`, the others
 * go on, and the next call starts a new one.
 */
export const startEmbedded = async (settings: EmbeddedSettings): Promise<MediaEngine> => {
  const { bind, advertised, rtpPorts, webrtcPorts, fault } = settings
  const workers = settings.workers ?? Math.max(1, availableParallelism() - 1)
  const perWorker = settings.callsPerWorker ?? defaultCalls
  const pool = new WorkerPool({
    workers: Array.from(
      { length: workers },
      (_, i): WorkerSettings => ({
        addresses: { bind, advertised, offersOwnAddress: settings.offersOwnAddress ?? false },
        rtpPorts: rangeShare(rtpPorts, i, workers),
        webrtcPorts: rangeShare(webrtcPorts, i, workers),
        silenceSeconds: settings.silenceSeconds ?? 60,
      }),
    ),
    callsPerWorker: perWorker,
    idleMs: (settings.idleSeconds ?? 60) * 1_000,
    fault,
  })

  const openCall = async (events: MediaEvents): Promise<MediaResult<MediaCall>> => {
    const call = randomUUID()
    try {
      const begun = await pool.open(call, events)
      if (!begun)
        return refused('full', `the limit of ${workers * perWorker} concurrent calls of this server is reached`)
      const { worker, opened } = begun
      return opened.outcome === 'done' ? done(callOf(worker, call)) : opened
    } catch (error) {
      const reason = errorMessage(error)
      if (!pool.isClosed) fault(reason)
      return refused('state', reason)
    }
  }

  return {
    openCall,
    state: () => ({ calls: pool.calls, capacity: workers * perWorker }),
    prepare: () => pool.prepare(),
    close: () => pool.close(),
  }
}
