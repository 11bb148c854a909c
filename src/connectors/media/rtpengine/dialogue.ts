import { readAudio } from '../../../lib/sdp.ts'
import type { MediaLegWish } from '../../port.ts'
import type { Ng } from './ng.ts'

/** A leg as we know it: rtpengine knows it by its id, as a tag of the call. */
export type Side = {
  readonly wish: MediaLegWish
  /** Where its signalling comes from; null until known. */
  source: string | null
  /** The peer's last description, and ours. */
  remote: string | null
  local: string | null
  other: Side | null
  isConnected: boolean
  /** When its count of packets last changed, Unix milliseconds. */
  packets: number
  changedAt: number
  isSilenceTold: boolean
  /** Nothing that its peer says goes to the other one. */
  isBlocked: boolean
}

/** What each kind of peer takes (pitfalls of the voice design: `DTLS=off` would forbid it towards the offerer as well). */
const flags = {
  webrtc: {
    ICE: 'force',
    'transport-protocol': 'UDP/TLS/RTP/SAVPF',
    'rtcp-mux': ['offer'],
    SDES: ['off'],
    flags: ['generate-mid'],
  },
  rtp: { ICE: 'remove', 'transport-protocol': 'RTP/AVP', 'rtcp-mux': ['demux'] },
} as const

/** The transport is the offerer's own. */
const answerFlags = {
  webrtc: { ICE: 'force', 'rtcp-mux': ['accept'] },
  rtp: { ICE: 'remove' },
} as const

/**
 * It is rtpengine that greets, never the browser: the hello of today's browsers comes in two records, for keys that outlast quantum
 * computers, and rtpengine 10.5 does not answer it. Seen with Chromium 156.
 */
const greeting = (sdp: string): string => sdp.replace('a=setup:actpass', 'a=setup:active')

/** rtpengine takes media from where the signalling comes from as well, when it is told. */
const sourceOf = ({ source }: Side) =>
  source === null ? {} : { 'received-from': [source.includes(':') ? 'IP6' : 'IP4', source] }

/** The two legs of a call as rtpengine sees them: who offers what to whom, and who hears whom. */
export class Dialogue {
  private readonly ng: Ng
  private readonly id: string

  constructor(ng: Ng, id: string) {
    this.ng = ng
    this.id = id
  }

  /** rtpengine hands directions on, and media against them too: what a peer does not want to hear is kept from it. */
  async block(from: Side, to: Side): Promise<void> {
    const audio = readAudio(to.remote ?? '')
    const isBlocked = typeof audio !== 'string' && (audio.direction === 'sendonly' || audio.direction === 'inactive')
    if (isBlocked === from.isBlocked) return
    from.isBlocked = isBlocked
    const command = isBlocked ? 'block media' : 'unblock media'
    await this.ng.ask(command, { 'call-id': this.id, 'from-tag': from.wish.id })
  }

  /** What the one offers, as it is offered to the other. */
  async offer(from: Side, to: Side, sdp: string): Promise<string> {
    const reply = await this.ng.ask('offer', {
      'call-id': this.id,
      'from-tag': from.wish.id,
      ...(to.remote === null ? {} : { 'to-tag': to.wish.id }),
      ...flags[to.wish.kind],
      ...sourceOf(from),
      replace: ['origin'],
      sdp,
    })
    to.local = greeting(String(reply.sdp))
    return to.local
  }

  /** What the other answers, as it is told to the one. */
  async answer(to: Side, from: Side, sdp: string): Promise<string> {
    const reply = await this.ng.ask('answer', {
      'call-id': this.id,
      'from-tag': to.wish.id,
      'to-tag': from.wish.id,
      ...answerFlags[to.wish.kind],
      ...sourceOf(from),
      replace: ['origin'],
      sdp,
    })
    to.local = String(reply.sdp)
    return to.local
  }
}
