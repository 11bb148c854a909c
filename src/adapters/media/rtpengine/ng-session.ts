import { readAudio } from '@trunkline/rtp/sdp.ts'
import type { MediaLegOptions } from '../../../ports/media.ts'
import { defaultPacketMs } from '../limits.ts'
import { packetMsOf } from '../packet-time.ts'
import type { NgClient } from './ng-client.ts'
import { agreedKey, withSingleKey } from './sdp-filter.ts'

/** State of a leg. rtpengine knows it by its id, as a tag of the call. */
export type NgLeg = {
  readonly options: MediaLegOptions
  /** Address of the peer's signalling; null until known. */
  source: string | null
  /** Last description of the peer, and ours. */
  remote: string | null
  local: string | null
  other: NgLeg | null
  /** The other side of a single leg. */
  readonly isPlaceholder: boolean
  isConnected: boolean
  /** Counters that show a living peer, and when they last changed (Unix milliseconds). */
  signs: string
  changedAt: number
  isSilenceReported: boolean
  /** False after `unbridge`: media of this leg's peer are not for the other leg. */
  isBridged: boolean
  /** Media of this leg's peer do not reach the other leg. */
  isBlocked: boolean
}

/** Flags for a browser. `DTLS=off` is not among them, as it would also forbid DTLS towards the offerer. */
const browserFlags = {
  ICE: 'force',
  'transport-protocol': 'UDP/TLS/RTP/SAVPF',
  'rtcp-mux': ['offer'],
  SDES: ['off'],
  flags: ['generate-mid'],
}

/** Flags of answers, without a transport protocol: it is that of the offer. */
const answerFlags = {
  webrtc: { ICE: 'force', 'rtcp-mux': ['accept'] },
  rtp: { ICE: 'remove' },
} as const

/** Returns the profile of our description, and whether it has a key: by the peer's description, else by the setting. */
const profileOf = ({ options, remote }: NgLeg): { readonly protocol: string; readonly isKeyed: boolean } => {
  const audio = readAudio(remote ?? '')
  if (typeof audio !== 'string') return { protocol: audio.protocol, isKeyed: agreedKey(audio, options) !== null }
  const { srtp = 'never' } = options
  return { protocol: srtp === 'require' ? 'RTP/SAVP' : 'RTP/AVP', isKeyed: srtp !== 'never' }
}

const trunkFlags = (side: NgLeg) => {
  const { protocol, isKeyed } = profileOf(side)
  // Keys with RTP/AVP are an offer that the peer may ignore (RFC 8643). rtpengine calls it OSRTP.
  const keys = isKeyed ? { DTLS: 'off', OSRTP: ['offer'] } : {}
  return { ICE: 'remove', 'transport-protocol': protocol, 'rtcp-mux': ['demux'], ...keys }
}

/**
 * Returns our description for a peer. For a trunk it has one key if SRTP is offered or agreed, otherwise none.
 * @throws Error if rtpengine's description differs, as SRTP without keys would be noise
 */
const checkDescription = (side: NgLeg, sdp: string): string => {
  if (side.options.kind !== 'rtp') return sdp
  const { protocol, isKeyed } = profileOf(side)
  const text = withSingleKey(sdp, isKeyed)
  const audio = readAudio(text)
  if (typeof audio === 'string') throw new Error(`rtpengine: ${audio}`)
  if (audio.protocol === protocol && audio.crypto.length > 0 === isKeyed) return text
  throw new Error(`rtpengine returned ${audio.protocol} with ${audio.crypto.length} SRTP keys instead of ${protocol}`)
}

/**
 * Makes rtpengine the DTLS client, never the browser. The ClientHello of current browsers comes in two records because
 * of post-quantum keys, and rtpengine 10.5 does not answer it (observed with Chromium 156).
 */
const asDtlsClient = (sdp: string): string => sdp.replace('a=setup:actpass', 'a=setup:active')

/** Lets rtpengine accept media from the address of the signalling too. */
const sourceOf = ({ source }: NgLeg) =>
  source === null ? {} : { 'received-from': [source.includes(':') ? 'IP6' : 'IP4', source] }

/** Returns the milliseconds per packet to a peer if rtpengine must split or join packets for it, otherwise null. */
export const unusualPacketMs = (description: string | null): number | null => {
  const audio = readAudio(description ?? '')
  const milliseconds = typeof audio === 'string' ? null : packetMsOf(audio)
  return milliseconds === null || milliseconds === defaultPacketMs ? null : Math.floor(milliseconds)
}

/** Packet times towards both peers. They take the media out of the kernel, as rtpengine repacketizes in its transcoder. */
const packetFlags = (from: NgLeg, to: NgLeg) => {
  const [back, onward] = [unusualPacketMs(from.remote), unusualPacketMs(to.remote)]
  return { ...(back === null ? {} : { 'ptime-reverse': back }), ...(onward === null ? {} : { ptime: onward }) }
}

/**
 * Removes attributes that hold for one peer only: packet times, which would reach the other peer and pass for its own in
 * rtpengine. Its transcoder sends an SSRC of its own, so that of the peer would be wrong.
 */
const withoutOwnAttributes = (sdp: string, one: NgLeg, other: NgLeg): string => {
  const isTranscoded = Object.keys(packetFlags(one, other)).length > 0
  return sdp.replace(isTranscoded ? /^a=(?:ptime|maxptime|ssrc):.*\r?\n/gm : /^a=(?:ptime|maxptime):.*\r?\n/gm, '')
}

/** Converts tones to keys for a leg alone in its call, whose peer has no telephone events. rtpengine logs the keys. */
const keyFlags = ({ isPlaceholder }: NgLeg) => (isPlaceholder ? { codec: { accept: ['telephone-event'] } } : {})

/** Session of the two legs of a call in rtpengine: offers, answers, and blocked directions. */
export class NgSession {
  private readonly ng: NgClient
  private readonly id: string

  constructor(ng: NgClient, id: string) {
    this.ng = ng
    this.id = id
  }

  /**
   * Blocks media without a bridge, and against the peer's direction. rtpengine forwards directions, but does not enforce
   * them.
   */
  async block(from: NgLeg, to: NgLeg): Promise<void> {
    const audio = readAudio(to.remote ?? '')
    const isUnwanted = typeof audio !== 'string' && (audio.direction === 'sendonly' || audio.direction === 'inactive')
    const isBlocked = isUnwanted || !from.isBridged
    if (isBlocked === from.isBlocked) return
    from.isBlocked = isBlocked
    const command = isBlocked ? 'block media' : 'unblock media'
    await this.ng.request(command, { 'call-id': this.id, 'from-tag': from.options.id })
  }

  /** Returns the offer of `from` in the form for `to`. */
  async offer(from: NgLeg, to: NgLeg, sdp: string): Promise<string> {
    const reply = await this.ng.request('offer', {
      'call-id': this.id,
      'from-tag': from.options.id,
      ...(to.remote === null ? {} : { 'to-tag': to.options.id }),
      ...(to.options.kind === 'webrtc' ? browserFlags : trunkFlags(to)),
      ...sourceOf(from),
      ...packetFlags(from, to),
      ...keyFlags(from),
      replace: ['origin'],
      sdp: withoutOwnAttributes(sdp, from, to),
    })
    to.local = checkDescription(to, asDtlsClient(String(reply.sdp)))
    return to.local
  }

  /** Returns the answer of `from` in the form for `to`. */
  async answer(to: NgLeg, from: NgLeg, sdp: string): Promise<string> {
    const reply = await this.ng.request('answer', {
      'call-id': this.id,
      'from-tag': to.options.id,
      'to-tag': from.options.id,
      ...answerFlags[to.options.kind],
      ...sourceOf(from),
      replace: ['origin'],
      sdp: withoutOwnAttributes(sdp, from, to),
    })
    to.local = checkDescription(to, String(reply.sdp))
    return to.local
  }
}
