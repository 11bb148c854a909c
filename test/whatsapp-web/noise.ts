import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { Library, Pair } from './library.ts'

// Server side of the handshake: Noise_XX_25519_AESGCM_SHA256, with a protocol header before the first frame.

const mode = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0')
const header = Buffer.from([0x57, 0x41, 6, 3])

/**
 * The public certificates of WhatsApp's servers, signed by the key that the application contains. The library does not
 * compare them with the server's key, so this network can present them too.
 */
const certificates = Buffer.from(
  'CncKMwjjAhADGiCRKg7Kg1iu4CSulwLBaxX51Tefw6VXGgZqcr5OEbXIRiDQ04bOBijQjZ/TBhJA34Bj82jAHhLpCWBNVBlGnFDieamd8+138S57uMt9ke9mrn5r4+VepwBPKEgHjob6bR70rlCmWDkxZv+CfVjIAxJ2CjIIAxAAGiAcUamsMDmUxsjQuS6hh4pTNHZZnMWZ++o1mX2aqQzOYiCAka6+Bij/3rfcBhJAJw8pRkhTn+1IcOJQVN1OlZg6uikYnCumyO7acFVVX3U3QPXsGSq2TCbCbWrebSC593Su43EgprIDlfU8ZgWFBw==',
  'base64',
)

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

const ivOf = (counter: number) => {
  const iv = Buffer.alloc(12)
  iv.writeUInt32BE(counter, 8)
  return iv
}

const seal = (key: Uint8Array, counter: number, bytes: Uint8Array, about: Uint8Array): Buffer => {
  const cipher = createCipheriv('aes-256-gcm', key, ivOf(counter)).setAAD(about)
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

const open = (key: Uint8Array, counter: number, bytes: Uint8Array, about: Uint8Array): Buffer => {
  const cipher = createDecipheriv('aes-256-gcm', key, ivOf(counter)).setAAD(about)
  cipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([cipher.update(bytes.subarray(0, -16)), cipher.final()])
}

const none = Buffer.alloc(0)

/** A connection. `frame` returns the bytes to send back and passes on decrypted payloads. */
export class Noise {
  private readonly library: Library
  private readonly ephemeralKey: Pair
  private readonly staticKey: Pair
  private buffered: Buffer = none
  private hash: Uint8Array = mode
  private salt: Uint8Array = mode
  private key: Uint8Array = mode
  private counter = 0
  private phase: 'header' | 'hello' | 'finish' | 'open' = 'header'
  private read: Uint8Array = none
  private write: Uint8Array = none
  private reads = 0
  private writes = 0
  /** The client's static key, which identifies a linked device. */
  client: Uint8Array = none

  constructor(library: Library) {
    this.library = library
    this.ephemeralKey = library.Curve.generateKeyPair()
    this.staticKey = library.Curve.generateKeyPair()
  }

  private mixKey(key: Uint8Array): void {
    const both = this.library.hkdf(key, 64, { salt: this.salt, info: '' })
    this.salt = both.subarray(0, 32)
    this.key = both.subarray(32)
    this.counter = 0
  }

  private mixHash(bytes: Uint8Array): void {
    this.hash = sha256(Buffer.concat([this.hash, bytes]))
  }

  private encryptAndHash(bytes: Uint8Array): Buffer {
    const hidden = seal(this.key, this.counter++, bytes, this.hash)
    this.mixHash(hidden)
    return hidden
  }

  private decryptAndHash(bytes: Uint8Array): Buffer {
    const shown = open(this.key, this.counter++, bytes, this.hash)
    this.mixHash(bytes)
    return shown
  }

  private framed(bytes: Uint8Array): Buffer {
    const size = Buffer.alloc(3)
    size.writeUIntBE(bytes.length, 0, 3)
    return Buffer.concat([size, bytes])
  }

  /** Encrypts and frames a node. */
  pack(bytes: Uint8Array): Buffer {
    return this.framed(seal(this.write, this.writes++, bytes, none))
  }

  private hello(frame: Uint8Array): Buffer {
    const { Curve, proto } = this.library
    const { ephemeral } = proto.HandshakeMessage.decode(frame).clientHello
    this.mixHash(header)
    this.mixHash(ephemeral)
    this.mixHash(this.ephemeralKey.public)
    this.mixKey(Curve.sharedKey(this.ephemeralKey.private, ephemeral))
    const fixed = this.encryptAndHash(this.staticKey.public)
    this.mixKey(Curve.sharedKey(this.staticKey.private, ephemeral))
    const payload = this.encryptAndHash(certificates)
    const serverHello = { ephemeral: this.ephemeralKey.public, static: fixed, payload }
    return this.framed(proto.HandshakeMessage.encode({ serverHello }).finish())
  }

  private finish(frame: Uint8Array): Uint8Array {
    const { Curve, hkdf, proto } = this.library
    const { clientFinish } = proto.HandshakeMessage.decode(frame)
    this.client = this.decryptAndHash(clientFinish.static)
    this.mixKey(Curve.sharedKey(this.ephemeralKey.private, this.client))
    const payload = this.decryptAndHash(clientFinish.payload)
    const both = hkdf(none, 64, { salt: this.salt, info: '' })
    this.read = both.subarray(0, 32)
    this.write = both.subarray(32)
    return payload
  }

  /** Processes bytes of the socket. */
  receive(
    bytes: Buffer,
    told: { reply(bytes: Buffer): void; entered(payload: Uint8Array): void; node(bytes: Buffer): void },
  ): void {
    this.buffered = Buffer.concat([this.buffered, bytes])
    if (this.phase === 'header') {
      if (this.buffered.length < header.length) return
      if (!this.buffered.subarray(0, 4).equals(header)) throw new Error('not the header')
      this.buffered = this.buffered.subarray(4)
      this.phase = 'hello'
    }
    while (this.buffered.length >= 3) {
      const size = this.buffered.readUIntBE(0, 3)
      if (this.buffered.length < size + 3) return
      const frame = this.buffered.subarray(3, size + 3)
      this.buffered = this.buffered.subarray(size + 3)
      if (this.phase === 'hello') {
        told.reply(this.hello(frame))
        this.phase = 'finish'
      } else if (this.phase === 'finish') {
        this.phase = 'open'
        told.entered(this.finish(frame))
      } else told.node(open(this.read, this.reads++, frame, none))
    }
  }
}
