import { srtpSuite } from '@trunkline/rtp/sdes.ts'
import { type AudioDescription, readAudio, type SdpCrypto, sdpLines } from '@trunkline/rtp/sdp.ts'
import type { MediaCodec, MediaDirection, MediaLegOptions } from '../../../ports/media.ts'
import { fitnessFor } from '../rtp-profile.ts'

// rtpengine forwards session descriptions, so they are filtered before and after it.

/**
 * Removes from a line what may name the peer's user (RFC 8866, 5.2 to 5.6): our side is another party (RFC 3323, 5.2).
 */
const impersonal = (line: string): string[] =>
  /^[iuep]=/.test(line) ? [] : [line.replace(/^o=\S+/, 'o=-').replace(/^s=.*/, 's=-')]

/** Returns the payload type of an attribute line, or null. */
const typeOf = (line: string): number | null => {
  const [, type] = /^a=(?:rtpmap|fmtp|rtcp-fb):(\d{1,3}) /.exec(line) ?? []
  return type === undefined ? null : Number(type)
}

/** Keys for SRTP, in session descriptions (RFC 4568) or by DTLS (RFC 5763). */
const isSecurity = (line: string): boolean => /^a=(?:crypto|fingerprint|setup|tls-id):/.test(line)

const cryptoLine = ({ tag, key }: SdpCrypto): string => `a=crypto:${tag} ${srtpSuite} inline:${key.toString('base64')}`

/**
 * Returns a trunk's description with only this key. Otherwise rtpengine would also answer or offer other keys, or DTLS.
 * @param crypto null for a description without keys
 */
const withOnlyKey = (lines: readonly string[], crypto: SdpCrypto | null): string[] => {
  const line = crypto && cryptoLine(crypto)
  return lines.flatMap((one) => {
    if (!isSecurity(one)) return [one]
    return line !== null && one.startsWith(line) ? [line] : []
  })
}

/** Returns the key that a trunk's description agrees to: the first usable one. */
export const agreedKey = ({ crypto }: AudioDescription, { srtp = 'never' }: Pick<MediaLegOptions, 'srtp'>) =>
  srtp === 'never' ? null : (crypto[0] ?? null)

/** Returns our description for a trunk with at most one key, of the supported suite. */
export const withSingleKey = (text: string, isKeyed: boolean): string => {
  const audio = readAudio(text)
  const crypto = typeof audio === 'string' || !isKeyed ? null : (audio.crypto[0] ?? null)
  return withOnlyKey(sdpLines(text), crypto).join('\r\n')
}

/**
 * Filters a description: keeps only these codecs, with their telephone events.
 * @param from leg of the peer; a plain leg uses RTP/AVP or SRTP as its trunk allows, with a single audio stream
 * @returns the filtered text, or the cause and reason of a refusal
 */
export const filterSdp = (
  text: string,
  codecs: readonly MediaCodec[],
  from: Pick<MediaLegOptions, 'kind' | 'srtp'> | null = null,
): { text: string } | { cause: 'codec' | 'description'; reason: string } => {
  const isTrunk = from?.kind === 'rtp'
  const audio = readAudio(text, isTrunk ? fitnessFor(from.srtp ?? 'never') : undefined)
  if (typeof audio === 'string') return { cause: 'description', reason: audio }
  const clocks = audio.formats.filter(({ name }) => codecs.some((codec) => codec === name)).map(({ clock }) => clock)
  const isAllowed = ({ name, clock }: AudioDescription['formats'][number]) =>
    codecs.some((codec) => codec === name) || (name === 'telephone-event' && clocks.includes(clock))
  const types = audio.formats.filter(isAllowed).map(({ type }) => type)
  const names = audio.formats.map(({ name }) => name).join(', ') || 'nothing'
  if (clocks.length === 0)
    return { cause: 'codec', reason: `no common codec: the peer offers ${names}; supported are ${codecs.join(', ')}` }
  const all = (audio.lines[audio.index] ?? '').split(/\s+/).slice(3).map(Number)
  const dropped = new Set<number | null>(all.filter((type) => !types.includes(type)))
  let index = -1
  const said = sdpLines(text).flatMap(impersonal)
  const lines = (isTrunk ? withOnlyKey(said, agreedKey(audio, from)) : said)
    .filter((line) => !dropped.has(typeOf(line)))
    .map((line) => {
      if (!line.startsWith('m=')) return line
      index++
      if (index === audio.index) return line.replace(/^(m=audio \S+ \S+) .*$/, `$1 ${types.join(' ')}`)
      return line.replace(/^(m=audio) \S+/, '$1 0')
    })
  return { text: lines.join('\r\n') }
}

/** Returns the description with another direction of its audio. */
export const withDirection = (text: string, direction: MediaDirection): string => {
  const audio = readAudio(text)
  const lines = sdpLines(text).filter((line) => !/^a=(?:sendrecv|sendonly|recvonly|inactive)$/.test(line))
  const starts = lines.flatMap((line, i) => (line.startsWith('m=') ? [i] : []))
  const next = typeof audio === 'string' ? undefined : starts[audio.index + 1]
  const end = next ?? lines.findLastIndex((line) => line !== '') + 1
  return [...lines.slice(0, end), `a=${direction}`, ...(next === undefined ? [''] : lines.slice(end))].join('\r\n')
}

export const mirrorDirection = (direction: MediaDirection): MediaDirection =>
  direction === 'sendonly' ? 'recvonly' : direction === 'recvonly' ? 'sendonly' : direction
