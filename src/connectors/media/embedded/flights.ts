import { verify, X509Certificate } from 'node:crypto'

/** A handshake message of DTLS, or a fragment of one (RFC 6347, 4.2.2). */
export type Message = {
  readonly msg_type: number
  readonly length: number
  readonly message_seq: number
  readonly fragment_offset: number
  readonly fragment_length: number
  readonly fragment: Buffer
  serialize(): Buffer
}

type Parts = { readonly whole: Buffer; readonly type: number; readonly has: Set<number>; filled: number }

const clientHello = 1
const certificateVerify = 15
const finished = 20

/** A hello with a post-quantum key fills two datagrams; a certificate seldom more. */
const maxLength = 32_768
const maxAhead = 8

/**
 * Puts a peer's handshake messages together and in order, whatever datagrams were lost, came twice or late. werift takes messages as they
 * come and makes its keys of whatever it has by then: with a quarter of all datagrams lost, half of the handshakes never ended.
 */
export class Flights {
  private next = 0
  private readonly waiting = new Map<number, Parts>()

  /** @returns the messages whose turn it is now, each whole */
  take(message: Message): { type: number; seq: number; body: Buffer }[] {
    const { msg_type: type, message_seq: seq, length, fragment, fragment_offset: offset } = message
    // When the peer did not hear our answer to its last one, it says it again, and is answered again.
    const isAgain = seq === this.next - 1 && (type === clientHello || type === finished)
    if ((seq < this.next && !isAgain) || seq > this.next + maxAhead) return []
    if (length > maxLength || offset + fragment.length > length) return []
    const parts = this.waiting.get(seq) ?? { whole: Buffer.alloc(length), type, has: new Set(), filled: 0 }
    if (parts.whole.length !== length || parts.type !== type) return []
    this.waiting.set(seq, parts)
    // A peer that sends a message again cuts it at the same places.
    if (!parts.has.has(offset)) {
      parts.has.add(offset)
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

/** What CertificateVerify may be signed with (RFC 5246, 7.4.1.4.1): SHA-256 or more, with ECDSA or RSA. */
const algorithms: Record<number, string> = {
  1027: 'sha256',
  1283: 'sha384',
  1539: 'sha512',
  1025: 'sha256',
  1281: 'sha384',
  1537: 'sha512',
}

/**
 * Whether the peer has the key of its certificate: it has signed all messages up to its signature (RFC 5246, 7.4.8). werift does not look.
 * Without this anybody on the way could show the certificate that the browser's description vouches for.
 * @param messages of the handshake, in order
 */
export const holdsKey = (certificate: Buffer, messages: readonly Message[]): boolean => {
  const at = messages.findIndex(({ msg_type: type }) => type === certificateVerify)
  const signed = messages[at]?.fragment
  if (!signed || signed.length < 4) return false
  const algorithm = algorithms[signed.readUInt16BE(0)]
  const length = signed.readUInt16BE(2)
  if (!algorithm || signed.length !== 4 + length) return false
  const transcript = Buffer.concat(messages.slice(0, at).map((message) => message.serialize()))
  return verify(algorithm, transcript, new X509Certificate(certificate).publicKey, signed.subarray(4))
}
