import { type DataPdu, type ShortMessagePdu, tags } from './pdu.ts'
import { readUserData } from './user-data.ts'

/** message_state (SMPP 3.4, 5.2.28), and the seven letters of its text form (appendix B). */
export const messageStates = {
  ENROUTE: { code: 1, stat: 'ENROUTE' },
  DELIVERED: { code: 2, stat: 'DELIVRD' },
  EXPIRED: { code: 3, stat: 'EXPIRED' },
  DELETED: { code: 4, stat: 'DELETED' },
  UNDELIVERABLE: { code: 5, stat: 'UNDELIV' },
  ACCEPTED: { code: 6, stat: 'ACCEPTD' },
  UNKNOWN: { code: 7, stat: 'UNKNOWN' },
  REJECTED: { code: 8, stat: 'REJECTD' },
} as const

export type MessageState = keyof typeof messageStates

export type DeliveryReceipt = {
  readonly carrierId: string
  readonly state: MessageState
  readonly error: string | null
}

const byCode = new Map<number, MessageState>()
const byStat = new Map<string, MessageState>()
for (const [name, { code, stat }] of Object.entries(messageStates)) {
  byCode.set(code, name as MessageState) // Object.entries forgets the keys' type
  byStat.set(stat.slice(0, 5), name as MessageState)
}

/** esm_class, message type bits: a receipt, and an intermediate notification (5.2.12). */
export const receiptClass = 0x04
const typeBits = 0x3c
const intermediate = 0x20

// A NUL ends a field as a space does: some carriers end the whole text with one, and no database stores it.
const idPattern = /\bid\s*:\s*([^\s:\0]+)(?=[\s\0]|$)/i
const statPattern = /\bstat\s*:\s*([a-z]+)/i
const errPattern = /\berr\s*:\s*([^\s:\0]+)(?=[\s\0]|$)/i

/** The standard gives ids 64 octets (5.2.23). Some carriers send more; an index accepts at most 2,700. */
const maxIdLength = 255
/** The standard gives errors 3 octets (appendix B). */
const maxErrorLength = 64

/** An id as stored: cut in the same way in responses and receipts, so that they match. */
export const storedId = (id: string): string => id.slice(0, maxIdLength).toWellFormed()

/** A state by its first five letters, which are unique in the full and the short form (`DELIVRD`, `delivered`). */
const stateOf = (stat: string): MessageState | undefined => byStat.get(stat.slice(0, 5).toUpperCase())

/** The three octets of the error: network type, then the code in 16 bits (5.3.2.31). */
const networkError = (value: Buffer | undefined): string | null =>
  value?.length === 3 ? String(value.readUInt16BE(1)) : null

/**
 * Reads a receipt: the optional parameters first, its text second (appendix B: case, spaces and missing fields are
 * tolerated). Null without a message id. An unknown state is UNKNOWN; an error of zeros is null.
 */
export const readReceipt = (pdu: ShortMessagePdu | DataPdu): DeliveryReceipt | null => {
  const { text } = readUserData(pdu)
  const named = pdu.tlvs.get(tags.receipted_message_id)?.toString('latin1').replace(/\0.*$/s, '')
  const carrierId = named || idPattern.exec(text)?.[1]
  if (!carrierId) return null
  const code = pdu.tlvs.get(tags.message_state)?.[0]
  const state = (code === undefined ? undefined : byCode.get(code)) ?? stateOf(statPattern.exec(text)?.[1] ?? '')
  const error = errPattern.exec(text)?.[1] ?? networkError(pdu.tlvs.get(tags.network_error_code))
  return {
    carrierId: storedId(carrierId),
    state: state ?? 'UNKNOWN',
    error: error === null || /^0*$/.test(error) ? null : error.slice(0, maxErrorLength).toWellFormed(),
  }
}

/**
 * True when a deliver_sm or data_sm reports on a sent message. Some carriers leave esm_class at 0: then a message id
 * with a state marks a receipt, and an id without one does not.
 */
export const isReceipt = (pdu: ShortMessagePdu | DataPdu): boolean => {
  const type = pdu.esmClass & typeBits
  if (type === receiptClass || type === intermediate) return true
  if (!pdu.tlvs.has(tags.receipted_message_id)) return false
  return pdu.tlvs.has(tags.message_state) || statPattern.test(readUserData(pdu).text)
}

const formatDate = (at: Date): string => at.toISOString().slice(2, 16).replace(/[-T:]/g, '')

/** The text form of a receipt (appendix B); dates are UTC, to the minute. */
export const receiptText = (
  { carrierId, state, error }: DeliveryReceipt,
  submitted: Date,
  done: Date,
  beginning: string,
): string => {
  const delivered = state === 'DELIVERED' ? '001' : '000'
  return `id:${carrierId} sub:001 dlvrd:${delivered} submit date:${formatDate(submitted)} done date:${formatDate(done)} stat:${messageStates[state].stat} err:${error ?? '000'} text:${beginning.slice(0, 20)}`
}
