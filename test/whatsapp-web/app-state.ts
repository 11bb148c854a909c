import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Contact, Patch } from './contact-patch.ts'
import type { Library } from './library.ts'

// Application state that a phone shares with its devices (contacts): encrypted patches, which the network orders.
// Written from knowledge of the protocol, without the library's cryptography, so that each end detects errors of the
// other.

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

/** Order-independent sum of the state: 64 separate 16-bit numbers, little-endian. */
const sum = (hash: Buffer, mac: Uint8Array, sign: 1 | -1): Buffer => {
  const expanded = derive(mac, 'WhatsApp Patch Integrity', 128)
  const total = Buffer.alloc(128)
  for (let at = 0; at < 128; at += 2)
    total.writeUInt16LE((hash.readUInt16LE(at) + sign * expanded.readUInt16LE(at)) & 0xffff, at)
  return total
}

const assertValid = (isSo: boolean, what: string): void => {
  if (!isSo) throw new Error(`address book: ${what}`)
}

/** Address book of an account on its phone, with the patches that the network stores. */
export class AddressBook {
  readonly keyId = randomBytes(6)
  readonly secret = randomBytes(32)
  readonly contacts = new Map<string, Contact>()
  /** Patches as the network distributes them; versions start at 1. */
  readonly patches: Uint8Array[] = []
  /** The phone is offline: devices must wait for the keys. */
  isWithheld = false
  /** A contact that the phone adds just before the next change of a device. */
  concurrentContact: string | null = null
  /** Error code with which the network rejects the next change of a device. */
  nextError: string | null = null
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

  /** State after a change, with its proofs. */
  private stateAfter(changes: readonly { operation: number; index: Uint8Array; mac: Uint8Array }[]) {
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

  /** Applies a device's change on the phone. @throws the fault of the change */
  applyPatch(bytes: Uint8Array): void {
    const { proto } = this.library
    const patch = proto.SyncdPatch.decode(bytes)
    assertValid(this.keyId.equals(patch.keyId.id), 'another key')
    const keys = this.keys()
    const actions = patch.mutations.map(({ operation, record }) => {
      const blob = Buffer.from(record.value.blob)
      const [sealed, mac] = [blob.subarray(0, -32), blob.subarray(-32)]
      assertValid(this.valueMac(operation ?? setting, sealed).equals(mac), 'the proof of a value is wrong')
      const cipher = createDecipheriv('aes-256-cbc', keys.value, sealed.subarray(0, 16))
      const opened = Buffer.concat([cipher.update(sealed.subarray(16)), cipher.final()])
      const action = proto.SyncActionData.decode(opened)
      assertValid(hmac(keys.index, action.index).equals(record.index.blob), 'the proof of a place is wrong')
      return { operation: operation ?? setting, index: record.index.blob, mac, action }
    })
    const { hash, macs, snapshotMac, patchMac } = this.stateAfter(actions)
    assertValid(snapshotMac.equals(patch.snapshotMac), 'the proof of all that is kept is wrong')
    assertValid(patchMac.equals(patch.patchMac), 'the proof of the change is wrong')
    this.storePatch(patch, hash, macs)
    for (const { operation, action } of actions) {
      const [kind, jid] = JSON.parse(Buffer.from(action.index).toString())
      if (kind !== 'contact') continue
      if (operation === removing) this.contacts.delete(jid)
      else this.contacts.set(jid, action.value?.contactAction ?? {})
    }
  }

  /** Adds a contact on the phone itself. */
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
    const { hash, macs, snapshotMac, patchMac } = this.stateAfter([{ operation: setting, index, mac }])
    const keyId = { id: this.keyId }
    const record = { index: { blob: index }, value: { blob: Buffer.concat([sealed, mac]) }, keyId }
    this.storePatch({ mutations: [{ operation: setting, record }], snapshotMac, patchMac, keyId }, hash, macs)
    this.contacts.set(jid, contactAction)
  }

  private storePatch(patch: Patch, hash: Buffer, macs: Map<string, Uint8Array>): void {
    const version = { version: this.version + 1 }
    this.patches.push(this.library.proto.SyncdPatch.encode({ ...patch, version }).finish())
    this.hash = hash
    this.macs = macs
  }
}
