import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { MediaAnswer, MediaCall, MediaEngine, MediaEvents, MediaLeg } from '../../port.ts'
import { done, refused } from '../answer.ts'
import { Crew, type Mate } from './crew.ts'
import type { PortRange } from './ports.ts'
import { share } from './ports.ts'

export type EmbeddedSettings = {
  /** Where sockets are bound, and the address that peers are told: an IP address of this machine, and how it is reached. */
  readonly bind: string
  readonly advertised: string
  /** Two of the first a plain leg, one of the second a browser's. */
  readonly rtpPorts: PortRange
  readonly webrtcPorts: PortRange
  /** One a core, less one for everything else, unless told. */
  readonly workers?: number
  readonly callsPerWorker?: number
  readonly silenceSeconds?: number
  /** Errors that no caller can be told of. */
  readonly fault: (reason: string) => void
}

/** Measured: 100 recorded calls of browsers took 23 % of a core without a loss, which leaves room for slower machines and for set-ups. */
const defaultCalls = 100

const legOf = (mate: Mate, call: string, leg: string): MediaLeg => ({
  id: leg,
  describe: () => mate.ask(call, 'describe', { leg }),
  accept: (answer, source) => mate.ask(call, 'accept', { leg, answer, source: source ?? null }),
  renegotiate: (offer) => mate.ask(call, 'renegotiate', { leg, offer }),
  reoffer: (direction) => mate.ask(call, 'reoffer', { leg, direction }),
  press: (digits) => mate.ask(call, 'press', { leg, digits }),
  play: (hertz) => mate.ask(call, 'play', { leg, hertz }),
})

const callOf = (mate: Mate, call: string): MediaCall => ({
  addLeg: async (wish) => {
    const added = await mate.ask(call, 'addLeg', wish)
    return added.outcome === 'done' ? done(legOf(mate, call, wish.id)) : added
  },
  bridge: (one, other) => mate.ask(call, 'bridge', { one: one.id, other: other.id }),
  startRecording: (path, left, right) => mate.ask(call, 'startRecording', { path, left: left.id, right: right.id }),
  stopRecording: () => mate.ask(call, 'stopRecording', null),
  stats: () => mate.ask(call, 'stats', null),
  close: () => mate.end(call),
})

/**
 * Media in threads of this process: ICE-lite, DTLS-SRTP and plain RTP. A call lives in one thread; when that dies, its calls end with
 * `failed(null)`, the others go on, and another thread takes its place.
 */
export const startEmbedded = async (settings: EmbeddedSettings): Promise<MediaEngine> => {
  const { bind, advertised, rtpPorts, webrtcPorts, fault } = settings
  const workers = settings.workers ?? Math.max(1, availableParallelism() - 1)
  const perWorker = settings.callsPerWorker ?? defaultCalls
  const crew = await Crew.start(
    Array.from({ length: workers }, (_, i) => ({
      place: { bind, advertised },
      rtpPorts: share(rtpPorts, i, workers),
      webrtcPorts: share(webrtcPorts, i, workers),
      silenceSeconds: settings.silenceSeconds ?? 60,
    })),
    fault,
  )

  const openCall = async (events: MediaEvents): Promise<MediaAnswer<MediaCall>> => {
    const mate = crew.idlest()
    if (!mate || mate.calls >= perWorker)
      return refused('full', `all ${workers * perWorker} calls that this server takes at a time are taken`)
    const call = randomUUID()
    const opened = await mate.begin(call, events)
    return opened.outcome === 'done' ? done(callOf(mate, call)) : opened
  }

  return {
    openCall,
    state: () => ({ calls: crew.calls, room: workers * perWorker }),
    close: () => crew.close(),
  }
}
