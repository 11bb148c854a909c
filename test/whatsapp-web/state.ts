import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Library } from './library.ts'

// What a phone keeps with its devices (contacts): changes that the network stores in order and cannot read. Written after what is
// known of the protocol, with none of the library's cryptography: each end finds out what the other does wrong.

export type Patch = {
  readonly version?: { readonly version?: { toString(): string } | number | null } | null
  readonly mutations: readonly {
    readonly operation?: number | null
    readonly record: {
      readonly index: { readonly blob: Uint8Array }
      readonly value: { readonly blob: Uint8Array }
      readonly keyId: { readonly id: Uint8Array }
    }
  }[]
  readonly snapshotMac: Uint8Array
  readonly patchMac: Uint8Array
  readonly keyId: { readonly id: Uint8Array }
}

export type Action = {
  readonly index: Uint8Array
  readonly value?: { readonly contactAction?: Contact | null } | null
}

export type Contact = { readonly fullName?: string | null; readonly firstName?: string | null }

const name = 'critical_unblock_low'
const [setting, removing] = [0, 1]

const hmac = (key: Uint8Array, ...pieces: Uint8Array[]) =>
  createHmac('sha256', key).update(Buffer.concat(pieces)).digest()

const eightBytes = (value: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

const derive = (secret: Uint8Array, info: string, length: number) =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), info, length))

/** A sum of what is kept, whatever the order: 64 numbers of 16 bits, little-endian, each for itself. */
const sum = (hash: Buffer, mac: Uint8Array, sign: 1 | -1): Buffer => {
  const expanded = derive(mac, 'WhatsApp Patch Integrity', 128)
  const total = Buffer.alloc(128)
  for (let at = 0; at < 128; at += 2)
    total.writeUInt16LE((hash.readUInt16LE(at) + sign * expanded.readUInt16LE(at)) & 0xffff, at)
  return total
}

const must = (isSo: boolean, what: string): void => {
  if (!isSo) throw new Error(`address book: ${what}`)
}

/** The address book of an account, as its phone has it, and the changes of it that the network stores. */
export class AddressBook {
  readonly keyId = randomBytes(6)
  readonly secret = randomBytes(32)
  readonly contacts = new Map<string, Contact>()
  /** As the network hands them out: each with its version, from 1. */
  readonly patches: Uint8Array[] = []
  /** The phone is offline: devices have to wait for the keys. */
  isWithheld = false
  /** Somebody whom the phone adds at the moment of the next change by a device. */
  rival: string | null = null
  /** What the network says of the next change by a device, in place of taking it. */
  fault: string | null = null
  private readonly library: Library
  private hash: Buffer = Buffer.alloc(128)
  private macs = new Map<string, Uint8Array>()

  constructor(library: Library) {
    this.library = library
  }

  get version(): number {
    return this.patches.length
  }

  private keys() {
    const all = derive(this.secret, 'WhatsApp Mutation Keys', 160)
    const [index, value, valueMac, snapshot, patch] = [0, 32, 64, 96, 128].map((from) => all.subarray(from, from + 32))
    if (!index || !value || !valueMac || !snapshot || !patch) throw new Error('no keys')
    return { index, value, valueMac, snapshot, patch }
  }

  private valueMac(operation: number, sealed: Uint8Array): Buffer {
    const about = Buffer.concat([Buffer.from([operation + 1]), this.keyId])
    const whole = Buffer.concat([about, sealed, eightBytes(about.length)])
    return createHmac('sha512', this.keys().valueMac).update(whole).digest().subarray(0, 32)
  }

  /** What is kept after a change, and the proofs of it. */
  private after(changes: readonly { operation: number; index: Uint8Array; mac: Uint8Array }[]) {
    let { hash } = this
    const macs = new Map(this.macs)
    for (const { operation, index, mac } of changes) {
      const place = Buffer.from(index).toString('hex')
      const before = macs.get(place)
      if (before) hash = sum(hash, before, -1)
      macs.delete(place)
      if (operation === setting) {
        hash = sum(hash, mac, 1)
        macs.set(place, mac)
      }
    }
    const version = eightBytes(this.version + 1)
    const { snapshot, patch } = this.keys()
    const snapshotMac = hmac(snapshot, hash, version, Buffer.from(name))
    const patchMac = hmac(patch, snapshotMac, ...changes.map(({ mac }) => mac), version, Buffer.from(name))
    return { hash, macs, snapshotMac, patchMac }
  }

  /** The phone reads a change of a device. @throws what is wrong with it */
  take(bytes: Uint8Array): void {
    const { proto } = this.library
    const patch = proto.SyncdPatch.decode(bytes)
    must(this.keyId.equals(patch.keyId.id), 'another key')
    const keys = this.keys()
    const actions = patch.mutations.map(({ operation, record }) => {
      const blob = Buffer.from(record.value.blob)
      const [sealed, mac] = [blob.subarray(0, -32), blob.subarray(-32)]
      must(this.valueMac(operation ?? setting, sealed).equals(mac), 'the proof of a value is wrong')
      const cipher = createDecipheriv('aes-256-cbc', keys.value, sealed.subarray(0, 16))
      const opened = Buffer.concat([cipher.update(sealed.subarray(16)), cipher.final()])
      const action = proto.SyncActionData.decode(opened)
      must(hmac(keys.index, action.index).equals(record.index.blob), 'the proof of a place is wrong')
      return { operation: operation ?? setting, index: record.index.blob, mac, action }
    })
    const { hash, macs, snapshotMac, patchMac } = this.after(actions)
    must(snapshotMac.equals(patch.snapshotMac), 'the proof of all that is kept is wrong')
    must(patchMac.equals(patch.patchMac), 'the proof of the change is wrong')
    this.store(patch, hash, macs)
    for (const { operation, action } of actions) {
      const [kind, jid] = JSON.parse(Buffer.from(action.index).toString())
      if (kind !== 'contact') continue
      if (operation === removing) this.contacts.delete(jid)
      else this.contacts.set(jid, action.value?.contactAction ?? {})
    }
  }

  /** The phone itself adds somebody. */
  add(jid: string, contactAction: Contact): void {
    const { proto } = this.library
    const keys = this.keys()
    const place = Buffer.from(JSON.stringify(['contact', jid]))
    const data = proto.SyncActionData.encode({
      index: place,
      value: { contactAction },
      padding: Buffer.alloc(0),
      version: 2,
    })
    const iv = randomBytes(16)
    const cipher = createCipheriv('aes-256-cbc', keys.value, iv)
    const sealed = Buffer.concat([iv, cipher.update(data.finish()), cipher.final()])
    const [index, mac] = [hmac(keys.index, place), this.valueMac(setting, sealed)]
    const { hash, macs, snapshotMac, patchMac } = this.after([{ operation: setting, index, mac }])
    const keyId = { id: this.keyId }
    const record = { index: { blob: index }, value: { blob: Buffer.concat([sealed, mac]) }, keyId }
    this.store({ mutations: [{ operation: setting, record }], snapshotMac, patchMac, keyId }, hash, macs)
    this.contacts.set(jid, contactAction)
  }

  private store(patch: Patch, hash: Buffer, macs: Map<string, Uint8Array>): void {
    const version = { version: this.version + 1 }
    this.patches.push(this.library.proto.SyncdPatch.encode({ ...patch, version }).finish())
    this.hash = hash
    this.macs = macs
  }
}
