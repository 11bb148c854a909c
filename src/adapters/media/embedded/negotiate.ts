import { isIP } from 'node:net'
import { type AudioDescription, type Format, readAudio } from '@trunkline/rtp/sdp.ts'
import type { MediaCodec, MediaDirection, MediaSrtp } from '../../../ports/media.ts'
import { opusPacketMs } from '../limits.ts'
import { fitnessFor } from '../rtp-profile.ts'

/** Negotiated formats of a leg: a codec, and telephone events of the same clock. */
export type NegotiatedFormats = { readonly codec: Format & { readonly name: MediaCodec }; readonly keys: Format | null }

const isCodec = (format: Format): format is Format & { readonly name: MediaCodec } =>
  (format.name === 'opus' && format.clock === 48_000) ||
  ((format.name === 'pcmu' || format.name === 'pcma') && format.clock === 8_000)

/** Offered payload types: the static ones of RFC 3551, and the dynamic ones that browsers use. */
const offerFormats: Record<MediaCodec, Format> = {
  opus: { type: 111, name: 'opus', clock: 48_000, parameters: 'minptime=10;useinbandfec=1' },
  pcmu: { type: 0, name: 'pcmu', clock: 8_000, parameters: '' },
  pcma: { type: 8, name: 'pcma', clock: 8_000, parameters: '' },
}

const keysAt = (clock: number): Format => ({
  type: clock === 48_000 ? 110 : 101,
  name: 'telephone-event',
  clock,
  parameters: '0-15',
})

export const offeredFormats = (codecs: readonly MediaCodec[]): Format[] => {
  const formats = codecs.map((codec) => offerFormats[codec])
  return [...formats, ...[...new Set(formats.map(({ clock }) => clock))].map(keysAt)]
}

/** Chooses the first preferred codec of the peer. Keys need the same clock, as both share a stream (RFC 4733, 2.1). */
export const chooseCodec = (theirs: readonly Format[], codecs: readonly MediaCodec[]): NegotiatedFormats | null => {
  const known = theirs.filter(isCodec)
  for (const wished of codecs) {
    const codec = known.find(({ name }) => name === wished)
    if (!codec) continue
    const keys = theirs.find(({ name, clock }) => name === 'telephone-event' && clock === codec.clock) ?? null
    return { codec, keys }
  }
  return null
}

export const codecsOf = (formats: readonly Format[]): MediaCodec[] => formats.filter(isCodec).map(({ name }) => name)

export const isG711 = (codec: MediaCodec): codec is 'pcmu' | 'pcma' => codec !== 'opus'

/** Returns the codecs that can be bridged to one of the others. G.711's laws are transcoded; Opus is only forwarded. */
export const bridgeable = (wished: readonly MediaCodec[], others: readonly MediaCodec[]): MediaCodec[] => {
  const same = wished.filter((codec) => others.includes(codec))
  const converted = wished.filter((codec) => !same.includes(codec) && isG711(codec) && others.some(isG711))
  return [...same, ...converted]
}

const sends = (direction: MediaDirection) => direction === 'sendrecv' || direction === 'sendonly'
const receives = (direction: MediaDirection) => direction === 'sendrecv' || direction === 'recvonly'

/** Returns the direction that results from ours and the peer's (RFC 3264, 6.1). */
export const negotiatedDirection = (ours: MediaDirection, theirs: MediaDirection): MediaDirection => {
  const out = sends(ours) && receives(theirs)
  const back = receives(ours) && sends(theirs)
  if (out) return back ? 'sendrecv' : 'sendonly'
  return back ? 'recvonly' : 'inactive'
}

export const maySend = sends

/** Removes Opus if its packets exceed the peer's limit (RFC 8866, 6.5). The limit applies to every codec of the stream. */
const withoutUnsplittable = (description: AudioDescription): AudioDescription =>
  description.maxptime === null || description.maxptime >= opusPacketMs
    ? description
    : { ...description, formats: description.formats.filter(({ name }) => name !== 'opus') }

/** Parses the peer's audio description; returns the reason if a leg cannot use it. @param address our own address */
export const readRemoteAudio = (
  text: string,
  { kind, srtp, address }: { readonly kind: 'webrtc' | 'rtp'; readonly srtp: MediaSrtp; readonly address: string },
): AudioDescription | string => {
  const description = readAudio(text, kind === 'rtp' ? fitnessFor(srtp) : undefined)
  if (typeof description === 'string') return description
  if (kind === 'webrtc' && !description.security)
    return 'a browser’s description needs a=ice-ufrag, a=ice-pwd and a=fingerprint'
  if (kind === 'rtp' && isIP(description.address) !== isIP(address))
    return `c= names ${description.address.slice(0, 64)}, which cannot be reached from ${address}`
  return withoutUnsplittable(description)
}
