import { verify, X509Certificate } from 'node:crypto'
import { maxHandshakeBytes, maxMessagesAhead } from '../limits.ts'

/** A handshake message of DTLS, or a fragment of one (RFC 6347, 4.2.2). */
export type HandshakeMessage = {
  readonly msg_type: number
  readonly length: number
  readonly message_seq: number
  readonly fragment_offset: number
  readonly fragment_length: number
  readonly fragment: Buffer
  serialize(): Buffer
}

type PartialMessage = { readonly whole: Buffer; readonly type: number; readonly offsets: Set<number>; filled: number }

const clientHello = 1
const certificateVerify = 15
const finished = 20

/**
 * Reassembles and orders a peer's handshake messages despite lost, duplicate or late datagrams. werift processes
 * messages as they arrive and derives keys from what it has: with 25 % loss, half of the handshakes never completed.
 */
export class Flights {
  private next = 0
  private readonly waiting = new Map<number, PartialMessage>()

  /** @returns the complete messages that are next in order */
  take(message: HandshakeMessage): { type: number; seq: number; body: Buffer }[] {
    const { msg_type: type, message_seq: seq, length, fragment, fragment_offset: offset } = message
    // A peer that missed our answer to its last message repeats it, and gets the answer again.
    const isAgain = seq === this.next - 1 && (type === clientHello || type === finished)
    if ((seq < this.next && !isAgain) || seq > this.next + maxMessagesAhead) return []
    if (length > maxHandshakeBytes || offset + fragment.length > length) return []
    const parts = this.waiting.get(seq) ?? { whole: Buffer.alloc(length), type, offsets: new Set(), filled: 0 }
    if (parts.whole.length !== length || parts.type !== type) return []
    this.waiting.set(seq, parts)
    // Retransmissions have the same fragment boundaries.
    if (!parts.offsets.has(offset)) {
      parts.offsets.add(offset)
      parts.filled += fragment.length
      fragment.copy(parts.whole, offset)
    }
    if (!isAgain) return this.due()
    if (parts.filled < length) return []
    this.waiting.delete(seq)
    return [{ type, seq, body: parts.whole }]
  }

  private due() {
    const ready = []
    for (;;) {
      const parts = this.waiting.get(this.next)
      if (!parts || parts.filled < parts.whole.length) return ready
      ready.push({ type: parts.type, seq: this.next, body: parts.whole })
      this.waiting.delete(this.next)
      this.next++
    }
  }
}

/** Algorithms accepted for CertificateVerify (RFC 5246, 7.4.1.4.1): SHA-256 or stronger, with ECDSA or RSA. */
const algorithms: Record<number, string> = {
  1027: 'sha256',
  1283: 'sha384',
  1539: 'sha512',
  1025: 'sha256',
  1281: 'sha384',
  1537: 'sha512',
}

/**
 * Whether the peer holds the key of its certificate: its signature covers all earlier messages (RFC 5246, 7.4.8).
 * werift does not check this. Without it an attacker on the path could present the certificate of the description.
 * @param messages of the handshake, in order
 */
export const holdsKey = (certificate: Buffer, messages: readonly HandshakeMessage[]): boolean => {
  const at = messages.findIndex(({ msg_type: type }) => type === certificateVerify)
  const signed = messages[at]?.fragment
  if (!signed || signed.length < 4) return false
  const algorithm = algorithms[signed.readUInt16BE(0)]
  const length = signed.readUInt16BE(2)
  if (!algorithm || signed.length !== 4 + length) return false
  const transcript = Buffer.concat(messages.slice(0, at).map((message) => message.serialize()))
  return verify(algorithm, transcript, new X509Certificate(certificate).publicKey, signed.subarray(4))
}
