import type { FileHandle } from 'node:fs/promises'
import { silence } from '@trunkline/rtp/g711.ts'
import { soundBlockBytes } from '../limits.ts'
import { frameBytes } from './g711-frame.ts'

/** Reads a sound frame by frame: 20 ms of µ-law, null after the end. `close` frees what an unread rest holds. Idempotent. */
export type SoundReader = {
  (): Buffer | null
  readonly close?: () => void
}

const silentFrame = Buffer.alloc(frameBytes, silence.pcmu)

/** Returns the frame at a place of some octets; the last one is filled with silence. */
const frameAt = (octets: Buffer, at: number): Buffer => {
  const read = octets.subarray(at, at + frameBytes)
  return read.length === frameBytes ? read : Buffer.concat([read, silentFrame.subarray(read.length)])
}

/** Reads octets in memory. @param from which the first repetition begins @param loop 0: without an end */
export const readOctets = (octets: Buffer, from: number, loop: number): SoundReader => {
  let position = from
  let left = loop === 0 ? Number.POSITIVE_INFINITY : loop
  return () => {
    if (position >= octets.length) {
      position = 0
      left--
    }
    if (left <= 0) return null
    const frame = frameAt(octets, position)
    position += frameBytes
    return frame
  }
}

/**
 * Reads a file in blocks while it is played: a block is in use and one waits. The sound is silent while the disk is slower.
 * @param size octets of the file, more than `from`
 */
export const readFileAhead = async (
  file: FileHandle,
  size: number,
  from: number,
  loop: number,
): Promise<SoundReader> => {
  let left = loop === 0 ? Number.POSITIVE_INFINITY : loop
  let position = from
  let isClosed = false
  const close = () => {
    if (isClosed) return
    isClosed = true
    void file.close().catch(() => {})
  }
  /** The next block; null after the end. */
  const readBlock = async (): Promise<Buffer | null> => {
    if (position >= size) {
      position = 0
      left--
    }
    if (left <= 0 || isClosed) return null
    const length = Math.min(soundBlockBytes, size - position)
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(length), 0, length, position)
    position += bytesRead
    // A file that was cut meanwhile ends.
    return bytesRead === 0 ? null : buffer.subarray(0, bytesRead)
  }
  let block = await readBlock()
  let offset = 0
  let next: { readonly block: Buffer | null } | null = null
  let isReading = false
  const readAhead = () => {
    if (isReading || next) return
    isReading = true
    void readBlock()
      .catch(() => null)
      .then((read) => {
        next = { block: read }
        isReading = false
      })
  }
  const read = (): Buffer | null => {
    if (isClosed) return null
    if (block && offset >= block.length) {
      if (!next) return silentFrame
      block = next.block
      next = null
      offset = 0
    }
    if (!block) {
      close()
      return null
    }
    readAhead()
    const frame = frameAt(block, offset)
    offset += frameBytes
    return frame
  }
  return Object.assign(read, { close })
}
