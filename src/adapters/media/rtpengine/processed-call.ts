import { randomUUID } from 'node:crypto'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import type {
  MediaCall,
  MediaEngine,
  MediaEvents,
  MediaLeg,
  MediaLegOptions,
  MediaLegStats,
  MediaResult,
} from '../../../ports/media.ts'
import { done } from '../result.ts'
import { RtpengineCall, type RtpengineCallDeps } from './rtpengine-call.ts'
import { withDirection } from './sdp-filter.ts'

export type ProcessedCallDeps = Pick<RtpengineCallDeps, 'ng' | 'silenceSeconds' | 'recordings'> & {
  /** The embedded engine, at an address that rtpengine reaches. */
  readonly processor: MediaEngine
  ended(): void
}

/** A leg in rtpengine: a session of its own between the peer and a leg of the embedded engine. */
type RelayedLeg = {
  readonly hasOffer: boolean
  readonly relay: MediaCall
  readonly outer: MediaLeg
  readonly inner: MediaLeg
  readonly joint: MediaLeg
}

const jointId = 'processing'

/**
 * Opens a call whose audio is processed in the embedded engine, which mixes in sounds, records and bridges. rtpengine
 * remains the relay of each leg: it ends ICE, DTLS and SRTP, and serves peers behind a NAT. G.711 only.
 */
export const openProcessedCall = async (
  events: MediaEvents,
  deps: ProcessedCallDeps,
): Promise<MediaResult<MediaCall>> => {
  const legs = new Map<string, RelayedLeg>()
  let isLost = false
  const opened = await deps.processor.openCall({
    ...events,
    // rtpengine knows the peers: their signs of life, and unexpected addresses.
    silence: () => {},
    dropped: () => {},
    failed: (leg, reason) => fail(leg, reason),
  })
  if (opened.outcome === 'refused') return opened
  const processing = opened.value
  const fail = (leg: string | null, reason: string) => {
    if (isLost) return
    isLost = leg === null
    events.failed(leg, reason)
  }

  const openRelay = (): MediaCall =>
    new RtpengineCall({
      ...deps,
      id: randomUUID(),
      events: {
        connected: () => {},
        dtmf: () => {},
        silence: (leg, seconds) => leg !== jointId && events.silence(leg, seconds),
        dropped: (leg, from, expected) => events.dropped(leg, from, expected),
        failed: (_, reason) => fail(null, reason),
      },
      ended: () => {},
    }).port

  const addLeg = async (options: MediaLegOptions): Promise<MediaResult<MediaLeg>> => {
    // Both ends are in the embedded engine.
    if (options.isLocal) return await processing.addLeg(options)
    const relay = openRelay()
    const added = await relayLeg(processing, relay, options)
    if (added.outcome === 'refused') {
      await relay.close()
      return added
    }
    legs.set(options.id, added.value)
    return done(legOf(added.value))
  }

  const removeLeg = async (leg: MediaLeg): Promise<MediaResult<null>> => {
    const { id } = leg
    const removed = legs.get(id)
    if (!removed) return await processing.removeLeg(leg)
    legs.delete(id)
    const answer = await processing.removeLeg(removed.inner)
    await removed.relay.close()
    return answer
  }

  const stats = async (): Promise<MediaResult<readonly MediaLegStats[]>> => {
    const all: MediaLegStats[] = []
    for (const { relay, outer } of legs.values()) {
      const found = await relay.stats()
      if (found.outcome === 'refused') return found
      all.push(...found.value.filter(({ leg }) => leg === outer.id))
    }
    const inside = await processing.stats()
    if (inside.outcome === 'refused') return inside
    return done([...all, ...inside.value.filter(({ leg }) => !legs.has(leg))])
  }

  return done({
    ...processing,
    addLeg,
    removeLeg,
    stats,
    close: async () => {
      await processing.close()
      await Promise.all([...legs.values()].map(({ relay }) => relay.close()))
      deps.ended()
    },
  })
}

/** Connects a leg of the peer with one of the embedded engine: the side with an offer comes first. */
const relayLeg = async (
  processing: MediaCall,
  relay: MediaCall,
  options: MediaLegOptions,
): Promise<MediaResult<RelayedLeg>> => {
  const codecs = options.codecs.filter((codec) => codec !== 'opus')
  const outer = await relay.addLeg({ ...options, codecs })
  if (outer.outcome === 'refused') return outer
  const joint = { id: jointId, kind: 'rtp', codecs } as const
  const addInner = (offer: string | null) => processing.addLeg({ id: options.id, kind: 'rtp', codecs, offer })
  if (options.offer === null) {
    const inner = await addInner(null)
    if (inner.outcome === 'refused') return inner
    // rtpengine needs an offer for the peer's. The codecs are narrowed when it is described.
    const offer = await inner.value.describe()
    if (offer.outcome === 'refused') return offer
    const added = await relay.addLeg({ ...joint, offer: offer.value })
    if (added.outcome === 'refused') return added
    const bridged = await relay.bridge(outer.value, added.value)
    return bridged.outcome === 'refused'
      ? bridged
      : done({ hasOffer: options.offer !== null, relay, outer: outer.value, inner: inner.value, joint: added.value })
  }
  const added = await relay.addLeg({ ...joint, offer: null })
  if (added.outcome === 'refused') return added
  const bridged = await relay.bridge(outer.value, added.value)
  if (bridged.outcome === 'refused') return bridged
  const offer = await added.value.describe()
  if (offer.outcome === 'refused') return offer
  const inner = await addInner(offer.value)
  return inner.outcome === 'refused'
    ? inner
    : done({ hasOffer: options.offer !== null, relay, outer: outer.value, inner: inner.value, joint: added.value })
}

const legOf = ({ hasOffer, outer, inner, joint }: RelayedLeg): MediaLeg => {
  /** True if the embedded leg answers offers: then it takes no answers. */
  let isAnswerer = hasOffer
  let isAnswered = !hasOffer
  /** Gives the embedded leg the direction of the peer. rtpengine's address and keys towards it stay the same. */
  const passDirection = async (text: string): Promise<MediaResult<null>> => {
    const local = await joint.describe()
    if (local.outcome === 'refused') return local
    const audio = readAudio(text)
    const description = withDirection(local.value, typeof audio === 'string' ? 'sendrecv' : audio.direction)
    if (!isAnswerer) return inner.accept(description)
    const answered = await inner.renegotiate(description)
    return answered.outcome === 'refused' ? answered : done(null)
  }
  return {
    ...inner,
    describe: async () => {
      if (!isAnswered) {
        const answer = await inner.describe()
        if (answer.outcome === 'refused') return answer
        const accepted = await joint.accept(answer.value)
        if (accepted.outcome === 'refused') return accepted
        isAnswered = true
      }
      return outer.describe()
    },
    accept: async (answer, source) => {
      const accepted = await outer.accept(answer, source)
      return accepted.outcome === 'refused' ? accepted : passDirection(answer)
    },
    renegotiate: async (offer) => {
      const answered = await outer.renegotiate(offer)
      if (answered.outcome === 'refused') return answered
      isAnswerer = true
      const passed = await passDirection(offer)
      return passed.outcome === 'refused' ? passed : answered
    },
    reoffer: async (direction) => {
      isAnswerer = true
      return outer.reoffer(direction)
    },
  }
}
