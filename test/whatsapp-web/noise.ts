import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { Library, Pair } from './library.ts'

// The network's side of the handshake: Noise_XX_25519_AESGCM_SHA256, with a header of its own before the first frame.

const mode = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0')
const header = Buffer.from([0x57, 0x41, 6, 3])

/** What WhatsApp's servers show everyone: signed by the key that the application has built in. The key of the server itself is
 *  not compared with it by the library, so that this network can show it too. */
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

/** One connection. `frame` gives what is to be written back at once, and hands on what was read. */
export class Noise {
  private readonly library: Library
  private readonly own: Pair
  private readonly fixed: Pair
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
  /** The client's lasting key, which is that of a linked device. */
  client: Uint8Array = none

  constructor(library: Library) {
    this.library = library
    this.own = library.Curve.generateKeyPair()
    this.fixed = library.Curve.generateKeyPair()
  }

  private mix(key: Uint8Array): void {
    const both = this.library.hkdf(key, 64, { salt: this.salt, info: '' })
    this.salt = both.subarray(0, 32)
    this.key = both.subarray(32)
    this.counter = 0
  }

  private note(bytes: Uint8Array): void {
    this.hash = sha256(Buffer.concat([this.hash, bytes]))
  }

  private hide(bytes: Uint8Array): Buffer {
    const hidden = seal(this.key, this.counter++, bytes, this.hash)
    this.note(hidden)
    return hidden
  }

  private show(bytes: Uint8Array): Buffer {
    const shown = open(this.key, this.counter++, bytes, this.hash)
    this.note(bytes)
    return shown
  }

  private framed(bytes: Uint8Array): Buffer {
    const size = Buffer.alloc(3)
    size.writeUIntBE(bytes.length, 0, 3)
    return Buffer.concat([size, bytes])
  }

  /** A node, ready for the socket. */
  pack(bytes: Uint8Array): Buffer {
    return this.framed(seal(this.write, this.writes++, bytes, none))
  }

  private hello(frame: Uint8Array): Buffer {
    const { Curve, proto } = this.library
    const { ephemeral } = proto.HandshakeMessage.decode(frame).clientHello
    this.note(header)
    this.note(ephemeral)
    this.note(this.own.public)
    this.mix(Curve.sharedKey(this.own.private, ephemeral))
    const fixed = this.hide(this.fixed.public)
    this.mix(Curve.sharedKey(this.fixed.private, ephemeral))
    const payload = this.hide(certificates)
    const serverHello = { ephemeral: this.own.public, static: fixed, payload }
    return this.framed(proto.HandshakeMessage.encode({ serverHello }).finish())
  }

  private finish(frame: Uint8Array): Uint8Array {
    const { Curve, hkdf, proto } = this.library
    const { clientFinish } = proto.HandshakeMessage.decode(frame)
    this.client = this.show(clientFinish.static)
    this.mix(Curve.sharedKey(this.own.private, this.client))
    const payload = this.show(clientFinish.payload)
    const both = hkdf(none, 64, { salt: this.salt, info: '' })
    this.read = both.subarray(0, 32)
    this.write = both.subarray(32)
    return payload
  }

  /** Takes bytes of the socket. */
  take(
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
