import { silence } from '@trunkline/rtp/g711.ts'
import { maxFeedBytes } from '../limits.ts'
import { frameBytes } from './g711-frame.ts'

/** Sound that is pushed while it is played: µ-law in chunks of any length. Silence is played while none waits. */
export class AudioFeed {
  private readonly chunks: Buffer[] = []
  /** Octets of the first chunk that were read. */
  private offset = 0
  private waiting = 0
  private isEnded = false

  /** @returns false if the chunk is refused: the feed has ended, or too much waits */
  push(chunk: Uint8Array): boolean {
    if (this.isEnded || this.waiting + chunk.length > maxFeedBytes) return false
    if (chunk.length > 0) this.chunks.push(Buffer.from(chunk))
    this.waiting += chunk.length
    return true
  }

  /** The sound ends after what waits. */
  end(): void {
    this.isEnded = true
  }

  /** Drops what waits. @returns its octets */
  clear(): number {
    const dropped = this.waiting
    this.chunks.length = 0
    this.offset = 0
    this.waiting = 0
    return dropped
  }

  /** Reads a frame, of silence if less than a frame waits; null after the end. */
  read(): Buffer | null {
    if (this.isEnded && this.waiting === 0) return null
    const frame = Buffer.alloc(frameBytes, silence.pcmu)
    if (!this.isEnded && this.waiting < frameBytes) return frame
    let filled = 0
    for (let chunk = this.chunks[0]; chunk && filled < frameBytes; chunk = this.chunks[0]) {
      const copied = chunk.copy(frame, filled, this.offset)
      filled += copied
      this.offset += copied
      if (this.offset < chunk.length) break
      this.chunks.shift()
      this.offset = 0
    }
    this.waiting -= filled
    return frame
  }
}
