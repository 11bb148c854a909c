import { SipError } from './message.ts'
import { bodyLength, headLength, largest } from './parse.ts'

/**
 * Cuts a stream into messages by their Content-Length (RFC 3261, 18.3), however it is chunked, and tells the empty lines between
 * them, which keep a connection alive (RFC 5626, 3.5.1). Holds one unfinished message at most, 64 KiB. A head that has no
 * end or whose body has no known length means that the framing is lost for good.
 */
export class Frames {
  private readonly onMessage: (octets: Buffer) => void
  private readonly onPing: () => void
  private held: Buffer = Buffer.alloc(0)
  /** Length of the message that is awaited, once its head is here. */
  private wanted = 0

  constructor(onMessage: (octets: Buffer) => void, onPing: () => void) {
    this.onMessage = onMessage
    this.onPing = onPing
  }

  /** False once the framing is lost. */
  push(chunk: Buffer): boolean {
    this.held = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk])
    while (this.held.length > 0) {
      if (this.wanted === 0) this.skipPings()
      const found = this.wanted > 0 || this.readHead()
      if (found === 'lost') return false
      if (!found || this.held.length < this.wanted) break
      const message = this.held.subarray(0, this.wanted)
      this.held = this.held.subarray(this.wanted)
      this.wanted = 0
      this.onMessage(message)
    }
    return true
  }

  /** True when the length of the next message is known. */
  private readHead(): boolean | 'lost' {
    const head = headLength(this.held)
    if (head < 0) return this.held.length > largest ? 'lost' : false
    try {
      this.wanted = head + bodyLength(this.held.subarray(0, head))
    } catch (error) {
      if (error instanceof SipError) return 'lost'
      throw error
    }
    return this.wanted > largest ? 'lost' : true
  }

  /** A double CRLF asks for a CRLF; a single one is the answer to ours. */
  private skipPings(): void {
    let at = 0
    while (this.held[at] === 13 && this.held[at + 1] === 10) {
      if (this.held[at + 2] === 13 && this.held[at + 3] === 10) {
        this.onPing()
        at += 4
      } else at += 2
    }
    if (at > 0) this.held = this.held.subarray(at)
  }
}
