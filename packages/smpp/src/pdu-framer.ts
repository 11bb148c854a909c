import { headerLength, maxPduLength } from './pdu.ts'

/**
 * Splits a stream of octets into PDU frames, whatever its chunks. Buffers at most one unfinished frame (64 KiB); whole
 * frames are views of their chunk. A command_length outside 16 to 65,536 loses the framing for good: `push` returns
 * false and ignores all further input.
 */
export class PduFramer {
  private readonly onFrame: (frame: Buffer) => void
  private readonly header = Buffer.alloc(4)
  private partial: Buffer | null = null
  private filled = 0
  private lost = false

  constructor(onFrame: (frame: Buffer) => void) {
    this.onFrame = onFrame
  }

  /** False once the framing is lost. */
  push(chunk: Buffer): boolean {
    let offset = 0
    while (!this.lost && offset < chunk.length) {
      if (this.filled === 0 && chunk.length - offset >= headerLength) {
        const length = chunk.readUInt32BE(offset)
        if (length < headerLength || length > maxPduLength) return this.lose()
        if (length <= chunk.length - offset) {
          this.onFrame(chunk.subarray(offset, offset + length))
          offset += length
          continue
        }
      }
      offset = this.collect(chunk, offset)
    }
    return !this.lost
  }

  /** Extends the unfinished frame, whose buffer is allocated once its length is known. */
  private collect(chunk: Buffer, from: number): number {
    let offset = from
    while (this.filled < 4 && offset < chunk.length) this.header[this.filled++] = chunk[offset++] ?? 0
    if (this.filled < 4) return offset
    if (!this.partial) {
      const length = this.header.readUInt32BE(0)
      if (length < headerLength || length > maxPduLength) {
        this.lose()
        return offset
      }
      this.partial = Buffer.allocUnsafeSlow(length)
      this.header.copy(this.partial)
    }
    const end = Math.min(chunk.length, offset + this.partial.length - this.filled)
    this.filled += chunk.copy(this.partial, this.filled, offset, end)
    if (this.filled === this.partial.length) {
      const frame = this.partial
      this.partial = null
      this.filled = 0
      this.onFrame(frame)
    }
    return end
  }

  private lose(): false {
    this.lost = true
    this.partial = null
    return false
  }
}
