import type { MediaStreamOptions } from '../../../ports/media-stream.ts'
import { maxMarkNameLength, maxStreamPayloadBytes } from '../limits.ts'
import { encodingOf } from './stream-audio.ts'

// Frames of a media stream: JSON texts, as Twilio documents them for Media Streams. Numbers are texts, but for those of
// `mediaFormat`.

type Track = 'inbound' | 'outbound'

/** A frame before its sequence number is known. */
export type OwnFrame =
  | {
      readonly event: 'media'
      readonly track: Track
      /** Number of the frame in its track, from 1, and milliseconds from the start. Dropped frames count too. */
      readonly chunk: number
      readonly timestamp: number
      readonly payload: Buffer
    }
  | { readonly event: 'start' | 'stop' }
  | { readonly event: 'dtmf'; readonly digit: string }
  | { readonly event: 'mark'; readonly name: string }

/** Writes the first frame, which has no number. */
export const connectedFrame = JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' })

export type FrameWriter = (frame: OwnFrame, sequence: number) => string

/** Returns a writer of the frames of a stream. */
export const makeFrameWriter = (
  options: Pick<MediaStreamOptions, 'ids' | 'tracks' | 'parameters' | 'format'>,
): FrameWriter => {
  const { ids, tracks, parameters, format } = options
  const streamSid = JSON.stringify(ids.stream)
  const call = { accountSid: ids.account, callSid: ids.call }
  const rest = (frame: Exclude<OwnFrame, { event: 'media' }>) => {
    if (frame.event === 'dtmf') return { dtmf: { track: 'inbound_track', digit: frame.digit } }
    if (frame.event === 'mark') return { mark: { name: frame.name } }
    if (frame.event === 'stop') return { stop: call }
    const mediaFormat = encodingOf(format)
    return { start: { streamSid: ids.stream, ...call, tracks, customParameters: parameters, mediaFormat } }
  }
  return (frame, sequence) => {
    // One for each 20 ms: the text is joined in half the time of JSON.stringify.
    if (frame.event === 'media')
      return `{"event":"media","sequenceNumber":"${sequence}","media":{"track":"${frame.track}","chunk":"${frame.chunk}","timestamp":"${frame.timestamp}","payload":"${frame.payload.toString('base64')}"},"streamSid":${streamSid}}`
    return JSON.stringify({
      event: frame.event,
      sequenceNumber: String(sequence),
      ...rest(frame),
      streamSid: ids.stream,
    })
  }
}

/** A frame of the server. */
export type TheirFrame =
  | { readonly event: 'media'; readonly payload: Buffer }
  | { readonly event: 'mark'; readonly name: string }
  | { readonly event: 'clear' }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Reads a frame of the server. @param stream id of the stream @returns the fault of an invalid frame */
export const readFrame = (text: string, stream: string): TheirFrame | string => {
  const frame = parse(text)
  if (!isRecord(frame)) return 'a frame is not a JSON object'
  if (frame.streamSid !== stream) return 'a frame has another streamSid, or none'
  const { media, mark } = frame
  if (frame.event === 'clear') return { event: 'clear' }
  if (frame.event === 'mark') {
    const name = isRecord(mark) ? mark.name : null
    if (typeof name !== 'string' || name.length > maxMarkNameLength)
      return `a mark has no name of at most ${maxMarkNameLength} characters`
    return { event: 'mark', name }
  }
  if (frame.event !== 'media') return 'a frame has an unknown event: media, mark and clear are read'
  const payload = isRecord(media) ? media.payload : null
  if (typeof payload !== 'string' || !base64.test(payload)) return 'a payload of media is not base64'
  const octets = Buffer.from(payload, 'base64')
  if (octets.length > maxStreamPayloadBytes) return `a payload of media has more than ${maxStreamPayloadBytes} octets`
  return { event: 'media', payload: octets }
}
