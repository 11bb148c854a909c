import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { BinaryNode } from '../../src/adapters/whatsapp-web/library.ts'
import { bytesOf, childOf, node } from './nodes.ts'
import type { Person } from './person.ts'
import type { Device, World } from './world.ts'

// Linking a device from a phone: the phone signs the device's key, and the code's secret proves that it saw the code.

/** A device that waits to be linked, with its socket. */
export type UnlinkedDevice = {
  readonly refs: readonly string[]
  readonly noiseKey: Buffer
  readonly identityKey: Buffer
  readonly send: (node: BinaryNode) => void
  readonly close: () => void
  /** For a typed code: the device's data encrypted with the code. */
  hello: { jid: string; wrapped: Buffer; ref: Buffer } | null
  typed: ((finish: BinaryNode) => void) | null
}

const ctr = (key: Uint8Array, iv: Uint8Array, bytes: Uint8Array) => createCipheriv('aes-256-ctr', key, iv).update(bytes)

let serial = 1

/** @param secret shared by the phone and the device */
const link = (
  world: World,
  { identityKey, noiseKey, send, close }: UnlinkedDevice,
  account: Person,
  secret: Buffer,
): void => {
  const { proto, Curve } = world.library
  const { signedIdentityKey: own } = account.identity
  // Device numbers from 99 up belong to other people's computers.
  const place = ++account.lastDevice
  const id = `pair-${serial++}`
  const details = proto.ADVDeviceIdentity.encode({
    rawId: place,
    timestamp: Math.floor(Date.now() / 1_000),
    keyIndex: 1,
  }).finish()
  const signed = Buffer.concat([Buffer.from([6, 0]), details, identityKey])
  const accountSignature = Curve.sign(own.private, signed)
  const identity = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: own.public,
    accountSignature,
  }).finish()
  const hmac = createHmac('sha256', secret).update(identity).digest()
  const told = proto.ADVSignedDeviceIdentityHMAC.encode({ details: identity, hmac }).finish()
  const device: Device = {
    account,
    jid: `${account.number}:${place}@s.whatsapp.net`,
    lid: `${account.lid}:${place}@lid`,
    noiseKey,
    identityKey,
    bundle: null,
    hasKeys: false,
    waiting: new Map(),
    send: null,
  }
  const pending = { device, details, own: own.public }
  linkings.set(id, { ...pending, close, world })
  send(
    node('iq', { id, type: 'set', from: 's.whatsapp.net', xmlns: 'md' }, [
      node('pair-success', {}, [
        node('device-identity', {}, told),
        node('biz', { name: 'Our shop' }),
        node('device', { jid: device.jid, lid: device.lid }),
        node('platform', { name: 'android' }),
      ]),
    ]),
  )
}

type Linking = { device: Device; details: Uint8Array; own: Uint8Array; close: () => void; world: World }
const linkings = new Map<string, Linking>()

/**
 * Completes a link after the device's own signature; the device must reconnect. Returns true when the node was that
 * response.
 */
export const finishLink = (answer: BinaryNode, send: (node: BinaryNode) => void): boolean => {
  const linking = linkings.get(answer.attrs.id ?? '')
  if (!linking || answer.attrs.type !== 'result') return false
  linkings.delete(answer.attrs.id ?? '')
  const { device, details, own, close, world } = linking
  const { proto, Curve } = world.library
  const identity = bytesOf(childOf(childOf(answer, 'pair-device-sign'), 'device-identity'))
  const { deviceSignature } = proto.ADVSignedDeviceIdentity.decode(identity)
  const signed = Buffer.concat([Buffer.from([6, 1]), details, device.identityKey, own])
  if (!Curve.verify(device.identityKey, signed, deviceSignature)) throw new Error('the device has not signed')
  world.devices.set(device.jid, device)
  world.devices.set(device.lid, device)
  send(node('stream:error', { code: '515' }))
  close()
  return true
}

/** Scans the code of a device with a phone. */
export const scan = (world: World, unlinked: Iterable<UnlinkedDevice>, account: Person, qr: string): void => {
  const [, told = ''] = qr.split('#')
  const [ref = '', noiseKey = '', identityKey = '', secret = ''] = told.split(',')
  const found = [...unlinked].find(({ refs }) => refs.includes(ref))
  if (!found) throw new Error('nothing shows this code')
  const isSame = found.noiseKey.equals(Buffer.from(noiseKey, 'base64'))
  if (!isSame || !found.identityKey.equals(Buffer.from(identityKey, 'base64')))
    throw new Error('a code of another device')
  link(world, found, account, Buffer.from(secret, 'base64'))
}

/** Types a code into a phone: both ends prove knowledge of it and derive a secret. */
export const type = async (
  world: World,
  unlinked: Iterable<UnlinkedDevice>,
  account: Person,
  code: string,
): Promise<void> => {
  const { Curve, derivePairingCodeKey, hkdf } = world.library
  const found = [...unlinked].find(({ hello }) => hello?.jid === account.pnJid)
  if (!found?.hello) throw new Error('nothing waits for a code of this number')
  const { wrapped, ref } = found.hello
  const key = await derivePairingCodeKey(code, wrapped.subarray(0, 32))
  const companion = ctr(key, wrapped.subarray(32, 48), wrapped.subarray(48))
  const pair = Curve.generateKeyPair()
  const [salt, iv] = [randomBytes(32), randomBytes(16)]
  const ours = ctr(await derivePairingCodeKey(code, salt), iv, pair.public)
  const { signedIdentityKey: own } = account.identity
  const finished = new Promise<BinaryNode>((resolve) => {
    found.typed = resolve
  })
  found.send(
    node('notification', { id: `code-${serial++}`, from: 's.whatsapp.net', type: 'link_code_companion_reg' }, [
      node('link_code_companion_reg', { stage: 'primary_hello' }, [
        node('link_code_pairing_ref', {}, ref),
        node('primary_identity_pub', {}, own.public),
        node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, Buffer.concat([salt, iv, ours])),
      ]),
    ]),
  )
  const bundle = bytesOf(childOf(await finished, 'link_code_pairing_wrapped_key_bundle'))
  const shared = Curve.sharedKey(pair.private, companion)
  const opening = hkdf(shared, 32, {
    salt: bundle.subarray(0, 32),
    info: 'link_code_pairing_key_bundle_encryption_key',
  })
  const cipher = createDecipheriv('aes-256-gcm', opening, bundle.subarray(32, 44)).setAAD(Buffer.alloc(0))
  cipher.setAuthTag(bundle.subarray(-16))
  const opened = Buffer.concat([cipher.update(bundle.subarray(44, -16)), cipher.final()])
  const [identityKey, random] = [opened.subarray(0, 32), opened.subarray(64)]
  if (!identityKey.equals(found.identityKey)) throw new Error('the code was typed for another device')
  const both = Curve.sharedKey(own.private, identityKey)
  link(world, found, account, Buffer.from(hkdf(Buffer.concat([shared, both, random]), 32, { info: 'adv_secret' })))
}
