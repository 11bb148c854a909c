import { type AudioDescription, readAudio } from '../../../lib/sdp.ts'
import type { MediaCodec, MediaDirection } from '../../port.ts'

/** rtpengine hands descriptions on, so what we want of them is written into them. */

/** The payload type that an attribute is about, or null. */
const typeOf = (line: string): number | null => {
  const [, type] = /^a=(?:rtpmap|fmtp|rtcp-fb):(\d{1,3}) /.exec(line) ?? []
  return type === undefined ? null : Number(type)
}

/**
 * The description with some codecs only, and with the keys of a telephone beside them.
 * @param kind of the leg whose peer says it: a plain one speaks RTP/AVP alone, and its other audio streams are refused
 * @returns in words what is wrong, as `cause` says
 */
export const narrow = (
  text: string,
  codecs: readonly MediaCodec[],
  kind: 'webrtc' | 'rtp' | null = null,
): { text: string } | { cause: 'codec' | 'description'; reason: string } => {
  const isSpoken = ({ protocol }: AudioDescription) => kind !== 'rtp' || /^RTP\/AVPF?$/.test(protocol)
  const audio = readAudio(text, (one) => Number(isSpoken(one)))
  if (typeof audio === 'string') return { cause: 'description', reason: audio }
  const clocks = audio.formats.filter(({ name }) => codecs.some((codec) => codec === name)).map(({ clock }) => clock)
  const isKept = ({ name, clock }: AudioDescription['formats'][number]) =>
    codecs.some((codec) => codec === name) || (name === 'telephone-event' && clocks.includes(clock))
  const kept = audio.formats.filter(isKept).map(({ type }) => type)
  const names = audio.formats.map(({ name }) => name).join(', ') || 'nothing'
  if (clocks.length === 0)
    return { cause: 'codec', reason: `it speaks ${names}; possible here are ${codecs.join(', ')}` }
  const all = (audio.lines[audio.index] ?? '').split(/\s+/).slice(3).map(Number)
  const dropped = new Set<number | null>(all.filter((type) => !kept.includes(type)))
  let index = -1
  const lines = text
    .split(/\r?\n/)
    .filter((line) => !dropped.has(typeOf(line)))
    .map((line) => {
      if (!line.startsWith('m=')) return line
      index++
      if (index === audio.index) return line.replace(/^(m=audio \S+ \S+) .*$/, `$1 ${kept.join(' ')}`)
      return line.replace(/^(m=audio) \S+/, '$1 0')
    })
  return { text: lines.join('\r\n') }
}

/** The description with another direction. */
export const direct = (text: string, direction: MediaDirection): string => {
  const lines = text.split(/\r?\n/).filter((line) => !/^a=(?:sendrecv|sendonly|recvonly|inactive)$/.test(line))
  const end = lines.findLastIndex((line) => line !== '')
  return [...lines.slice(0, end + 1), `a=${direction}`, ''].join('\r\n')
}

export const mirrored = (direction: MediaDirection): MediaDirection =>
  direction === 'sendonly' ? 'recvonly' : direction === 'recvonly' ? 'sendonly' : direction
