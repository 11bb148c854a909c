import { noBody, SipError } from './message.ts'
import { bodyLength, headLength, maxMessageLength } from './parse.ts'

/**
 * Splits a stream into messages by Content-Length (RFC 3261, 18.3), whatever its chunks. Reports the empty lines
 * between them, which keep a connection alive (RFC 5626, 3.5.1). Buffers at most one unfinished message, 64 KiB. A head
 * without end, or without a valid body length, loses the framing for good.
 */
export class MessageFramer {
  private readonly onMessage: (octets: Buffer) => void
  private readonly onPing: () => void
  private buffered: Buffer = noBody
  /** Storage of `buffered` once it spans chunks, and the end of `buffered` in it. */
  private storage: Buffer = noBody
  private end = 0
  /** Octets of `buffered` that contain no end of a head. */
  private scanned = 0
  /** Length of the expected message, once its head has arrived. */
  private expectedLength = 0
  /** The first CRLF of a ping has arrived. */
  private isHalfPing = false

  constructor(onMessage: (octets: Buffer) => void, onPing: () => void) {
    this.onMessage = onMessage
    this.onPing = onPing
  }

  /** False once the framing is lost. */
  push(chunk: Buffer): boolean {
    this.append(chunk)
    while (this.buffered.length > 0) {
      if (this.expectedLength === 0) this.skipPings()
      const found = this.expectedLength > 0 || this.readHead()
      if (found === 'lost') return false
      if (!found || this.buffered.length < this.expectedLength) break
      const message = this.buffered.subarray(0, this.expectedLength)
      this.buffered = this.buffered.subarray(this.expectedLength)
      this.expectedLength = 0
      this.scanned = 0
      this.isHalfPing = false
      this.onMessage(message)
    }
    return true
  }

  /** Doubles the storage: a message in chunks of one octet is copied twice, not once per chunk. */
  private append(chunk: Buffer): void {
    if (this.buffered.length === 0) {
      this.buffered = chunk
      this.storage = noBody
      return
    }
    const size = this.buffered.length
    if (this.storage.length === 0 || this.end + chunk.length > this.storage.length) {
      this.storage = Buffer.allocUnsafe(2 * (size + chunk.length))
      this.buffered.copy(this.storage)
      this.end = size
    }
    chunk.copy(this.storage, this.end)
    this.end += chunk.length
    this.buffered = this.storage.subarray(this.end - size - chunk.length, this.end)
  }

  /** True when the length of the next message is known. */
  private readHead(): boolean | 'lost' {
    const head = headLength(this.buffered, Math.max(0, this.scanned - 3))
    this.scanned = this.buffered.length
    if (head < 0) return this.buffered.length > maxMessageLength ? 'lost' : false
    try {
      this.expectedLength = head + bodyLength(this.buffered.subarray(0, head))
    } catch (error) {
      if (error instanceof SipError) return 'lost'
      throw error
    }
    return this.expectedLength > maxMessageLength ? 'lost' : true
  }

  /** A double CRLF is a ping, also in two chunks: we send none, so no CRLF answers ours. */
  private skipPings(): void {
    let at = 0
    while (this.buffered[at] === 13 && this.buffered[at + 1] === 10) {
      at += 2
      this.isHalfPing = !this.isHalfPing
      if (!this.isHalfPing) this.onPing()
    }
    if (at === 0) return
    this.buffered = this.buffered.subarray(at)
    this.scanned = 0
  }
}
