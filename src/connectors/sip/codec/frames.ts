import { noBody, SipError } from './message.ts'
import { bodyLength, headLength, largest } from './parse.ts'

/**
 * Cuts a stream into messages by their Content-Length (RFC 3261, 18.3), however it is chunked, and tells the empty lines between
 * them, which keep a connection alive (RFC 5626, 3.5.1). Holds one unfinished message at most, 64 KiB. A head that has no
 * end or whose body has no known length means that the framing is lost for good.
 */
export class Frames {
  private readonly onMessage: (octets: Buffer) => void
  private readonly onPing: () => void
  private held: Buffer = noBody
  /** Where `held` lies, once it came in pieces, and where in it `held` ends. */
  private room: Buffer = noBody
  private end = 0
  /** Octets of `held` that hold no end of a head. */
  private searched = 0
  /** Length of the message that is awaited, once its head is here. */
  private wanted = 0

  constructor(onMessage: (octets: Buffer) => void, onPing: () => void) {
    this.onMessage = onMessage
    this.onPing = onPing
  }

  /** False once the framing is lost. */
  push(chunk: Buffer): boolean {
    this.append(chunk)
    while (this.held.length > 0) {
      if (this.wanted === 0) this.skipPings()
      const found = this.wanted > 0 || this.readHead()
      if (found === 'lost') return false
      if (!found || this.held.length < this.wanted) break
      const message = this.held.subarray(0, this.wanted)
      this.held = this.held.subarray(this.wanted)
      this.wanted = 0
      this.searched = 0
      this.onMessage(message)
    }
    return true
  }

  /** Doubles the room, so that a message in pieces of one octet is copied twice and not once for each piece. */
  private append(chunk: Buffer): void {
    if (this.held.length === 0) {
      this.held = chunk
      this.room = noBody
      return
    }
    const size = this.held.length
    if (this.room.length === 0 || this.end + chunk.length > this.room.length) {
      this.room = Buffer.allocUnsafe(2 * (size + chunk.length))
      this.held.copy(this.room)
      this.end = size
    }
    chunk.copy(this.room, this.end)
    this.end += chunk.length
    this.held = this.room.subarray(this.end - size - chunk.length, this.end)
  }

  /** True when the length of the next message is known. */
  private readHead(): boolean | 'lost' {
    const head = headLength(this.held, Math.max(0, this.searched - 3))
    this.searched = this.held.length
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
    if (at === 0) return
    this.held = this.held.subarray(at)
    this.searched = 0
  }
}
