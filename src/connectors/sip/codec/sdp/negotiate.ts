import type { Codec, Direction } from './media.ts'
import type { Attribute, Media, Sdp } from './sdp.ts'

/** What we can carry, best first. */
export type Wanted = Pick<Codec, 'name' | 'rate'> & { readonly channels?: number }

export const pcmu: Wanted = { name: 'PCMU', rate: 8_000 }
export const pcma: Wanted = { name: 'PCMA', rate: 8_000 }
/** RFC 7587, 7: always said to have two channels. */
export const opus: Wanted = { name: 'opus', rate: 48_000, channels: 2 }

const isSame = (codec: Codec, wanted: Wanted): boolean =>
  codec.name.toLowerCase() === wanted.name.toLowerCase() &&
  codec.rate === wanted.rate &&
  codec.channels === (wanted.channels ?? 1)

export type Agreed = {
  readonly audio: Codec
  /** telephone-event (RFC 4733), at the clock of the audio where that is offered; null when the peer takes none. */
  readonly events: Codec | null
}

/**
 * What to speak with a peer that offered, or answered with, these codecs: the first of ours that it has, under the payload
 * types that it gave. Null when there is none: 488.
 */
export const negotiate = (offered: readonly Codec[], ours: readonly Wanted[]): Agreed | null => {
  const audio = ours.flatMap((wanted) => offered.find((codec) => isSame(codec, wanted)) ?? [])[0]
  if (!audio) return null
  const events = offered.filter(({ name }) => name.toLowerCase() === 'telephone-event')
  return { audio, events: events.find(({ rate }) => rate === audio.rate) ?? events[0] ?? null }
}

const mapOf = ({ payload, name, rate, channels, parameters }: Codec): Attribute[] => [
  ['rtpmap', `${payload} ${name}/${rate}${channels > 1 ? `/${channels}` : ''}`],
  ...(parameters === null ? [] : [['fmtp', `${payload} ${parameters}`] as const]),
]

/** An audio stream over plain RTP, as carriers speak it. */
export const plainAudio = (port: number, codecs: readonly Codec[], direction: Direction, ptime = 20): Media => ({
  kind: 'audio',
  port,
  protocol: 'RTP/AVP',
  formats: codecs.map(({ payload }) => String(payload)),
  address: null,
  attributes: [...codecs.flatMap(mapOf), ['ptime', String(ptime)], [direction, null]],
  others: [],
})

/** A stream that is refused: its place in the answer is kept (RFC 3264, 6). */
export const refused = (media: Media): Media => ({ ...media, port: 0, address: null, attributes: [], others: [] })

/** A description of ours. A later one of the same session has the same id and the next version (RFC 3264, 8). */
export const describe = (address: string, id: string, version: number, media: readonly Media[]): Sdp => ({
  origin: { user: '-', id, version: String(version), address },
  name: '-',
  address,
  attributes: [],
  media,
  others: [],
})
