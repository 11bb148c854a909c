import { encodeSample } from '@trunkline/rtp/g711.ts'
import type { MediaCodec } from '../../../ports/media.ts'

// A single leg needs two things of rtpengine: an offer to derive its own from, and a tone to play.

const formats: Partial<Record<MediaCodec, { type: number; name: string }>> = {
  pcmu: { type: 0, name: 'PCMU' },
  pcma: { type: 8, name: 'PCMA' },
}
const keys = 101

/** Returns the offer of a placeholder peer. Its media go to the discard port (RFC 863) of rtpengine's machine. */
export const placeholderOffer = (codecs: readonly MediaCodec[]): string => {
  const known = codecs.flatMap((codec) => formats[codec] ?? [])
  return [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio 9 RTP/AVP ${[...known.map(({ type }) => type), keys].join(' ')}`,
    ...known.map(({ type, name }) => `a=rtpmap:${type} ${name}/8000`),
    `a=rtpmap:${keys} telephone-event/8000`,
    `a=fmtp:${keys} 0-15`,
    'a=sendrecv',
    '',
  ].join('\r\n')
}

const rate = 8_000
/** About -10 dBm0, like the tone of the embedded engine. */
const amplitude = 9_000

/** Returns a second of a tone as a G.711 WAV file (format 7, RFC 2361). @param hertz an integer, for a seamless loop */
export const toneFile = (hertz: number): Buffer => {
  const samples = Buffer.from(
    Array.from({ length: rate }, (_, i) =>
      encodeSample('pcmu', Math.round(amplitude * Math.sin((2 * Math.PI * hertz * i) / rate))),
    ),
  )
  const header = Buffer.alloc(46)
  header.write('RIFF', 0)
  header.writeUInt32LE(38 + samples.length, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(18, 16)
  header.writeUInt16LE(7, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write('data', 38)
  header.writeUInt32LE(samples.length, 42)
  return Buffer.concat([header, samples])
}
