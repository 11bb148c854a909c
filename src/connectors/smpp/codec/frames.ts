import { headerLength, maxLength } from './pdu.ts'

/**
 * Cuts a stream of octets into PDU frames, however it is chunked. Holds at most one unfinished frame (64 KiB); whole
 * frames are views of the chunk they came in. A command_length outside 16 to 65,536 means that the framing is lost for
 * good: `push` tells it and takes nothing more.
 */
export class Frames {
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
        if (length < headerLength || length > maxLength) return this.lose()
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

  /** Adds to the unfinished frame, whose buffer is made once its length is known. */
  private collect(chunk: Buffer, from: number): number {
    let offset = from
    while (this.filled < 4 && offset < chunk.length) this.header[this.filled++] = chunk[offset++] ?? 0
    if (this.filled < 4) return offset
    if (!this.partial) {
      const length = this.header.readUInt32BE(0)
      if (length < headerLength || length > maxLength) {
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
