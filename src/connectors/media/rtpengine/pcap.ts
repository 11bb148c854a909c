import { createReadStream } from 'node:fs'
import type { MediaRecording } from '../../port.ts'
import type { G711 } from '../codec/g711.ts'
import { isRtcp, readRtp } from '../codec/rtp.ts'
import { openRecorder } from '../recording/recorder.ts'

/** A UDP packet of a capture: where it went, and when, in Unix milliseconds. */
type Captured = { readonly at: number; readonly port: number; readonly payload: Buffer }

const fileHeader = 24
const packetHeader = 16
/** More than any packet that is captured is long. */
const maxPacket = 65_536

const udpOf = (at: number, packet: Buffer): Captured | null => {
  const version = (packet[0] ?? 0) >> 4
  const start = version === 4 ? ((packet[0] ?? 0) & 0x0f) * 4 : version === 6 ? 40 : packet.length
  if (packet.length < start + 8) return null
  return { at, port: packet.readUInt16BE(start + 2), payload: packet.subarray(start + 8) }
}

/** Reads a capture as libpcap writes it (little-endian, microseconds, raw IP), in pieces. One that is cut off ends where it ends. */
const capturedIn = async function* (path: string): AsyncGenerator<Captured> {
  let rest = Buffer.alloc(0)
  let isStarted = false
  for await (const chunk of createReadStream(path)) {
    rest = Buffer.concat([rest, chunk])
    let at = 0
    if (!isStarted) {
      if (rest.length < fileHeader) continue
      if (rest.readUInt32LE(0) !== 0xa1b2c3d4 || rest.readUInt32LE(20) !== 101)
        throw new Error(`${path} is no capture of raw IP: rtpengine needs recording-format=raw`)
      isStarted = true
      at = fileHeader
    }
    while (rest.length >= at + packetHeader) {
      const length = rest.readUInt32LE(at + 8)
      if (length > maxPacket) throw new Error(`${path} is damaged`)
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
 * Makes a WAV file of what rtpengine captured on two of its ports: left and right.
 * @param span when the recording began and ended, Unix milliseconds
 * @throws Error when one cannot be read or the other not be written
 */
export const convert = async (
  capture: string,
  path: string,
  channels: ReadonlyMap<number, 0 | 1>,
  span: { readonly from: number; readonly to: number },
): Promise<MediaRecording> => {
  const recorder = await openRecorder(path, span.from)
  let flushed = span.from
  for await (const { at, port, payload } of capturedIn(capture)) {
    const channel = channels.get(port)
    const packet = channel === undefined || isRtcp(payload) ? null : readRtp(payload)
    const law = packet && laws[packet.payloadType]
    if (channel !== undefined && packet && law) recorder.take(channel, law, packet, at)
    if (at - flushed < 1_000) continue
    flushed = at
    recorder.flush(at)
    await recorder.settle()
  }
  return recorder.close(span.to)
}
