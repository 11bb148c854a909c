import { parentPort, workerData } from 'node:worker_threads'
import type { MediaEvents, MediaResult } from '../../../ports/media.ts'
import type { MediaStreamEvents } from '../../../ports/media-stream.ts'
import { done, errorMessage, refused } from '../result.ts'
import type { AudioFeed } from './audio-feed.ts'
import { EmbeddedCall, type EmbeddedCallDeps } from './embedded-call.ts'
import { octetsPerMs } from './g711-frame.ts'
import type { Leg } from './leg.ts'
import { MediaClock } from './media-clock.ts'
import { SoundFiles } from './sound-files.ts'
import { UdpPorts } from './udp-ports.ts'
import type { StreamEvent, WorkerMessage, WorkerRequest, WorkerSettings } from './worker-protocol.ts'

/**
 * A media thread. Every call has packets each 20 ms, so nothing else runs here. Measured with 20 calls, the main thread
 * being blocked for 60 ms five times per second: 95 % of packets took up to 0.9 ms here, 55.9 ms there.
 */
if (!parentPort) throw new Error('this file runs only as a worker thread')
const port = parentPort

// Set by the engine, which has the same version.
const settings = workerData as WorkerSettings
const { addresses, silenceSeconds } = settings
const deps: EmbeddedCallDeps = {
  addresses,
  silenceSeconds,
  clock: new MediaClock(),
  files: new SoundFiles(),
  rtpPorts: new UdpPorts(addresses.bind, settings.rtpPorts),
  webrtcPorts: new UdpPorts(addresses.bind, settings.webrtcPorts),
}

const calls = new Map<string, EmbeddedCall>()
const post = (word: WorkerMessage) => port.postMessage(word)

const eventsOf = (call: string): MediaEvents => ({
  connected: (...args) => post({ word: 'event', happening: { event: 'connected', call, args } }),
  dtmf: (...args) => post({ word: 'event', happening: { event: 'dtmf', call, args } }),
  speech: (...args) => post({ word: 'event', happening: { event: 'speech', call, args } }),
  silence: (...args) => post({ word: 'event', happening: { event: 'silence', call, args } }),
  failed: (...args) => post({ word: 'event', happening: { event: 'failed', call, args } }),
  dropped: (...args) => post({ word: 'event', happening: { event: 'dropped', call, args } }),
})

const streamEventsOf = (call: string, stream: string): MediaStreamEvents => {
  const give = (event: StreamEvent) => post({ word: 'stream', call, stream, event })
  return {
    opened: () => give({ what: 'opened' }),
    dropped: (of) => give({ what: 'dropped', of }),
    ended: (end) => give({ what: 'ended', end }),
  }
}

const gone = refused('state', 'the call has ended')

const withLeg = async <T>(
  call: EmbeddedCall,
  id: string,
  then: (leg: Leg) => MediaResult<T> | Promise<MediaResult<T>>,
) => {
  const leg = call.leg(id)
  return leg ? then(leg) : refused('state', `there is no leg ${id}`)
}

const withFeed = <T>(
  call: EmbeddedCall,
  ask: { readonly leg: string; readonly feed: string },
  then: (feed: AudioFeed) => MediaResult<T>,
) =>
  withLeg<T>(call, ask.leg, (leg) => {
    const feed = leg.feeds.get(ask.feed)
    return feed ? then(feed) : refused('state', `there is no feed ${ask.feed}`)
  })

const withLegs = <T>(
  call: EmbeddedCall,
  a: string,
  b: string,
  then: (a: Leg, b: Leg) => MediaResult<T> | Promise<MediaResult<T>>,
) => withLeg(call, a, (one) => withLeg(call, b, (other) => then(one, other)))

const execute = async (order: WorkerRequest): Promise<MediaResult<unknown>> => {
  if (order.act === 'open') {
    calls.set(order.call, new EmbeddedCall(deps, eventsOf(order.call)))
    return done(null)
  }
  const call = calls.get(order.call)
  if (!call) return gone
  const at = performance.now()
  switch (order.act) {
    case 'addLeg':
      return call.addLeg(order.ask)
    case 'describe':
      return withLeg(call, order.ask.leg, (leg) => leg.describe(at))
    case 'accept':
      return withLeg(call, order.ask.leg, (leg) => leg.accept(order.ask.answer, at, order.ask.source))
    case 'renegotiate':
      return withLeg(call, order.ask.leg, (leg) => leg.renegotiate(order.ask.offer, at))
    case 'reoffer':
      return withLeg(call, order.ask.leg, (leg) => leg.reoffer(order.ask.direction, at))
    case 'press':
      return withLeg(call, order.ask.leg, (leg) => leg.sendKeys(order.ask.digits))
    case 'listenForKeys':
      return withLeg(call, order.ask.leg, (leg) => leg.listenForKeys())
    case 'listenForSpeech':
      return withLeg(call, order.ask.leg, (leg) => leg.taps.listenForSpeech(order.ask.options))
    case 'listen': {
      const { leg: id, listener, of } = order.ask
      return withLeg(call, id, (leg) =>
        leg.taps.listen(listener, of, (frame) =>
          // A view would be sent with all the memory behind it.
          post({ word: 'frame', call: order.call, listener, frame: new Uint8Array(frame) }),
        ),
      )
    }
    case 'unlisten':
      return withLeg(call, order.ask.leg, (leg) => leg.taps.unlisten(order.ask.listener))
    case 'playTone':
      return withLeg(call, order.ask.leg, (leg) => call.playTone(leg, order.ask.hertz))
    case 'play':
      return withLeg(call, order.ask.leg, (leg) => call.play(leg, order.ask.sounds))
    case 'stopSounds':
      return withLeg(call, order.ask.leg, (leg) => {
        leg.stopSounds()
        return done(null)
      })
    case 'openFeed':
      return withLeg(call, order.ask.leg, (leg) => call.openFeed(leg, order.ask.feed))
    case 'pushFeed':
      return withFeed(call, order.ask, (feed) =>
        feed.push(order.ask.chunk) ? done(null) : refused('full', `feed ${order.ask.feed} has ended, or is full`),
      )
    case 'endFeed':
      return withFeed(call, order.ask, (feed) => {
        feed.end()
        return done(null)
      })
    case 'clearFeed':
      return withFeed(call, order.ask, (feed) => done(Math.floor(feed.clear() / octetsPerMs)))
    case 'openStream': {
      const { leg: id, stream, options } = order.ask
      return withLeg(call, id, (leg) => call.openStream(leg, stream, options, streamEventsOf(order.call, stream)))
    }
    case 'pressStream':
      return call.pressStream(order.ask.stream, order.ask.digit)
    case 'stopStream':
      return call.stopStream(order.ask.stream)
    case 'unbridge':
      return withLeg(call, order.ask.leg, (leg) => call.unbridge(leg))
    case 'removeLeg': {
      const leg = call.leg(order.ask.leg)
      return leg ? call.removeLeg(leg) : done(null)
    }
    case 'bridge':
      return withLegs(call, order.ask.one, order.ask.other, (one, other) => call.bridge(one, other))
    case 'startRecording': {
      const { recording, path, left, right } = order.ask
      return withLegs(call, left.leg, right?.leg ?? left.leg, (one, other) =>
        call.startRecording(recording, path, { leg: one, of: left.of }, right && { leg: other, of: right.of }),
      )
    }
    case 'stopRecording':
      return call.stopRecording(order.ask.recording)
    case 'pauseRecording':
      return call.pauseRecording(order.ask.recording, order.ask.fill)
    case 'stats':
      return done(call.stats())
    case 'close':
      calls.delete(order.call)
      await call.close()
      return done(null)
  }
}

port.on('message', (order: WorkerRequest) => {
  execute(order)
    .catch((error: unknown) => refused('state', errorMessage(error)))
    .then((answer) => post({ word: 'answer', id: order.id, answer }))
})

// werift leaves promises that may reject when a call ends. They must not end the other calls.
process.on('unhandledRejection', (error) => post({ word: 'fault', reason: errorMessage(error) }))

setInterval(
  () => {
    const at = performance.now()
    for (const call of calls.values()) call.tick(at)
  },
  Math.min(1_000, silenceSeconds * 250),
)

post({ word: 'ready' })
