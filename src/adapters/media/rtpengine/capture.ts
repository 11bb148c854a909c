import { createReadStream } from 'node:fs'
import type { G711 } from '@trunkline/rtp/g711.ts'
import { isRtcp, readRtp } from '@trunkline/rtp/rtp.ts'
import type { MediaRecording } from '../../../ports/media.ts'
import { maxCapturedBytes } from '../limits.ts'
import { openRecorder } from '../recording/recorder.ts'

/** A UDP packet of a capture: destination port, and time in Unix milliseconds. */
type CapturedPacket = { readonly at: number; readonly port: number; readonly payload: Buffer }

const fileHeader = 24
const packetHeader = 16

const udpOf = (at: number, packet: Buffer): CapturedPacket | null => {
  const version = (packet[0] ?? 0) >> 4
  const start = version === 4 ? ((packet[0] ?? 0) & 0x0f) * 4 : version === 6 ? 40 : packet.length
  if (packet.length < start + 8) return null
  return { at, port: packet.readUInt16BE(start + 2), payload: packet.subarray(start + 8) }
}

/** Streams the packets of a libpcap capture (little-endian, microseconds, raw IP). Skips a truncated last packet. */
const readCapture = async function* (path: string): AsyncGenerator<CapturedPacket> {
  let rest = Buffer.alloc(0)
  let isStarted = false
  for await (const chunk of createReadStream(path)) {
    rest = Buffer.concat([rest, chunk])
    let at = 0
    if (!isStarted) {
      if (rest.length < fileHeader) continue
      if (rest.readUInt32LE(0) !== 0xa1b2c3d4 || rest.readUInt32LE(20) !== 101)
        throw new Error(`${path} is not a raw IP capture: rtpengine needs recording-format=raw`)
      isStarted = true
      at = fileHeader
    }
    while (rest.length >= at + packetHeader) {
      const length = rest.readUInt32LE(at + 8)
      if (length > maxCapturedBytes) throw new Error(`${path} is damaged`)
      const end = at + packetHeader + length
      if (rest.length < end) break
      const time = rest.readUInt32LE(at) * 1_000 + rest.readUInt32LE(at + 4) / 1_000
      const udp = udpOf(time, rest.subarray(at + packetHeader, end))
      if (udp) yield udp
      at = end
    }
    rest = rest.subarray(at)
  }
}

const laws: Record<number, G711> = { 0: 'pcmu', 8: 'pcma' }

/**
 * Converts rtpengine's capture of two ports to a stereo WAV file.
 * @param channels channel of each port: 0 left, 1 right
 * @param span start and end of the recording, Unix milliseconds
 * @throws Error if the capture cannot be read, or the WAV file cannot be written
 */
export const convertCapture = async (
  capture: string,
  path: string,
  channels: ReadonlyMap<number, 0 | 1>,
  span: { readonly from: number; readonly to: number },
): Promise<MediaRecording> => {
  const recorder = await openRecorder(path, span.from)
  let flushed = span.from
  for await (const { at, port, payload } of readCapture(capture)) {
    const channel = channels.get(port)
    const packet = channel === undefined || isRtcp(payload) ? null : readRtp(payload)
    const law = packet && laws[packet.payloadType]
    if (channel !== undefined && packet && law) recorder.addPacket(channel, law, packet, at)
    if (at - flushed < 1_000) continue
    flushed = at
    recorder.flush(at)
    await recorder.flushed()
  }
  return recorder.close(span.to)
}
