import { createHmac, timingSafeEqual } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { crc32 } from 'node:zlib'

// STUN (RFC 8489), as far as connectivity checks of ICE (RFC 8445, 7) need it.

const cookie = 0x2112a442
const bindingRequest = 0x0001
const bindingSuccess = 0x0101
const bindingError = 0x0111

/** Priority attribute of a check: that of a peer-reflexive candidate (RFC 8445, 7.1.1 and 5.1.2). */
const reflexivePriority = (110 << 24) | (0xffff << 8) | 255

const attribute = {
  username: 0x0006,
  integrity: 0x0008,
  errorCode: 0x0009,
  xorAddress: 0x0020,
  priority: 0x0024,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
  controlled: 0x8029,
  controlling: 0x802a,
} as const

export type BindingRequest = {
  readonly transaction: Buffer
  readonly username: string
  readonly useCandidate: boolean
  /** The peer claims the controlled role. */
  readonly controlled: boolean
  /** Whether the request is signed with the password. */
  isSigned(password: string): boolean
}

/** Recognises STUN by its first two bits and the magic cookie (RFC 7983, 7). */
export const isStun = (packet: Buffer): boolean =>
  packet.length >= 20 && (packet[0] ?? 0xff) < 4 && packet.readUInt32BE(4) === cookie

const align = (length: number) => (length + 3) & ~3

const sign = (password: string, message: Buffer) => createHmac('sha1', password).update(message).digest()

/** Parses a binding request. Returns null unless it is well-formed, with a user name and a signature. */
export const readBinding = (packet: Buffer): BindingRequest | null => {
  if (!isStun(packet) || packet.readUInt16BE(0) !== bindingRequest) return null
  if (packet.readUInt16BE(2) + 20 !== packet.length || packet.length % 4 !== 0) return null
  let username: string | null = null
  let signedAt: number | null = null
  let useCandidate = false
  let controlled = false
  for (let at = 20; at + 4 <= packet.length; ) {
    const type = packet.readUInt16BE(at)
    const length = packet.readUInt16BE(at + 2)
    if (at + 4 + length > packet.length) return null
    // Attributes after the signature are not signed (RFC 8489, 14.5).
    if (signedAt === null) {
      if (type === attribute.username) username = packet.toString('utf8', at + 4, at + 4 + length)
      if (type === attribute.useCandidate) useCandidate = true
      if (type === attribute.controlled) controlled = true
      if (type === attribute.integrity && length === 20) signedAt = at
    }
    at += 4 + align(length)
  }
  if (username === null || signedAt === null) return null
  const end = signedAt
  const isSigned = (password: string) => {
    // The signed length ends with the signature.
    const signed = Buffer.from(packet.subarray(0, end))
    signed.writeUInt16BE(end + 24 - 20, 2)
    return timingSafeEqual(sign(password, signed), packet.subarray(end + 4, end + 24))
  }
  return { transaction: packet.subarray(8, 20), username, useCandidate, controlled, isSigned }
}

const bytesOf = (address: string): Buffer => {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(head), groups(tail ?? '')]
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

/** XOR-MAPPED-ADDRESS (RFC 8489, 14.2): hides address and port from routers that rewrite addresses. */
const xorAddress = (address: string, port: number, transaction: Buffer): Buffer => {
  const bytes = bytesOf(address)
  const mask = Buffer.concat([Buffer.from([0x21, 0x12, 0xa4, 0x42]), transaction])
  const value = Buffer.alloc(4 + bytes.length)
  value[1] = bytes.length === 4 ? 1 : 2
  value.writeUInt16BE(port ^ (cookie >>> 16), 2)
  for (const [i, byte] of bytes.entries()) value[4 + i] = byte ^ (mask[i] ?? 0)
  return value
}

const head = (type: number, length: number, transaction: Buffer): Buffer => {
  const written = Buffer.alloc(20)
  written.writeUInt16BE(type, 0)
  written.writeUInt16BE(length, 2)
  written.writeUInt32BE(cookie, 4)
  transaction.copy(written, 8)
  return written
}

const field = (type: number, value: Buffer): Buffer => {
  const written = Buffer.alloc(4 + align(value.length))
  written.writeUInt16BE(type, 0)
  written.writeUInt16BE(value.length, 2)
  value.copy(written, 4)
  return written
}

const sealed = (type: number, transaction: Buffer, value: Buffer, password: string): Buffer => {
  const unsigned = Buffer.concat([head(type, value.length + 24, transaction), value])
  const signed = Buffer.concat([unsigned, field(attribute.integrity, sign(password, unsigned))])
  signed.writeUInt16BE(signed.length - 20 + 8, 2)
  const print = Buffer.alloc(4)
  print.writeUInt32BE((crc32(signed) ^ 0x5354554e) >>> 0)
  return Buffer.concat([signed, field(attribute.fingerprint, print)])
}

/** Returns a check of the controlling side, which nominates the pair (RFC 8445, 7.1.1 and 8.1.1). */
export const writeCheck = (transaction: Buffer, username: string, password: string): Buffer => {
  const priority = Buffer.alloc(4)
  priority.writeUInt32BE(reflexivePriority)
  const fields = [
    field(attribute.username, Buffer.from(username)),
    field(attribute.priority, priority),
    field(attribute.controlling, transaction.subarray(0, 8)),
    field(attribute.useCandidate, Buffer.alloc(0)),
  ]
  return sealed(bindingRequest, transaction, Buffer.concat(fields), password)
}

/** Returns a success response with the source address of the request. */
export const writeSuccess = (transaction: Buffer, address: string, port: number, password: string): Buffer =>
  sealed(bindingSuccess, transaction, field(attribute.xorAddress, xorAddress(address, port, transaction)), password)

/** Returns a Role Conflict error (RFC 8445, 7.3.1.1): the peer must take the controlling role. */
export const writeRoleConflict = (transaction: Buffer, password: string): Buffer =>
  sealed(
    bindingError,
    transaction,
    field(attribute.errorCode, Buffer.concat([Buffer.from([0, 0, 4, 87]), Buffer.from('Role Conflict')])),
    password,
  )
