import { type DataPdu, type ShortMessagePdu, tags } from './pdu.ts'
import { decodeUtf16 } from './text-encoding.ts'
import { messageOctets, readUserData, udhIndicator } from './user-data.ts'

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
  /** Error code of the network; null without one. */
  readonly error: string | null
}

/** A receipt as it was read; `state` is null if neither its text nor message_state has a known one. */
export type ReadReceipt = Omit<DeliveryReceipt, 'state'> & { readonly state: MessageState | null }

/** States by the words of one carrier, in capitals, and by the numbers of its message_state. */
export type StateWords = ReadonlyMap<string, MessageState>

/**
 * Words for the states, in capitals. The first is that of SMPP 3.4, appendix B; SCHEDULED and SKIPPED are of SMPP 5.0,
 * 4.7.15. The others are extensions of carriers, such as BUFFRED, ACKED and FAILED.
 */
const standardWords: Readonly<Record<MessageState, string>> = {
  ENROUTE: 'ENROUTE SCHEDULED BUFFRED BUFFERED QUEUED PENDING SENT SUBMITTED SUBMITD',
  DELIVERED: 'DELIVRD DELIVERED DELIVERD DELIVRED DLVRD SUCCESS SUCCEEDED SUCCESSFUL',
  EXPIRED: 'EXPIRED EXPIRD TIMEOUT',
  DELETED: 'DELETED CANCELED CANCELLED',
  UNDELIVERABLE:
    'UNDELIV UNDELIVERABLE UNDELIVERED UNDELIVRD UNDLVRD NOTDELIVERED FAILED FAIL FAILURE ERROR SKIPPED SKIPD',
  ACCEPTED: 'ACCEPTD ACCEPTED ACKED ACK',
  UNKNOWN: 'UNKNOWN',
  REJECTED: 'REJECTD REJECTED NACK NACKED BLOCKED DENIED REFUSED',
}

/** Values of message_state beyond `messageStates` (SMPP 5.0, 4.7.15): scheduled and skipped. */
const laterCodes = [
  [0, 'ENROUTE'],
  [9, 'UNDELIVERABLE'],
] as const

const byCode = new Map<number, MessageState>(laterCodes)
const byWord = new Map<string, MessageState>()
for (const [name, { code }] of Object.entries(messageStates)) {
  const state = name as MessageState // Object.entries forgets the keys' type
  byCode.set(code, state)
  for (const word of standardWords[state].split(' ')) byWord.set(word, state)
}

/** Returns the state of a number of message_state (5.2.28); null for an unknown number. */
export const stateOfCode = (code: number): MessageState | null => byCode.get(code) ?? null

/** Letters from which on a cut word counts: appendix B cuts to seven, and five are unique. */
const minWordLength = 5

/** Returns the state of a word: whole, cut, followed by a detail such as `FAILED_24`, or the number of a state. */
const stateOfWord = (word: string): MessageState | null => {
  if (/^\d{1,3}$/.test(word)) return byCode.get(Number(word)) ?? null
  const cut = word.length < minWordLength ? undefined : [...byWord.keys()].find((one) => one.startsWith(word))
  return byWord.get(word) ?? byWord.get(cut ?? word.split(/[_+-]/, 1)[0] ?? '') ?? null
}

/** esm_class, message type bits: a receipt, and an intermediate notification (5.2.12). */
export const receiptClass = 0x04
const typeBits = 0x3c
const intermediate = 0x20

// A NUL ends a field as a space does: some carriers end the whole text with one, and no database stores it. Others
// separate fields with commas or semicolons, and put values in quotation marks.
const idPattern = /\bid\s*:\s*["']?([^\s:\0,;"']+)(?=["']?(?:[\s\0,;]|$))/i
// A word that a colon follows is the name of the next field.
const statPattern = /\bstat\s*:\s*["']?(\w[\w+-]*)(?![\w+:-])/i
const errPattern = /\berr\s*:\s*["']?([^\s:\0,;"']+)(?=["']?(?:[\s\0,;]|$))/i

/** The standard gives ids 64 octets (5.2.23). Some carriers send more; an index accepts at most 2,700. */
const maxIdLength = 255
/** The standard gives errors 3 octets (appendix B). */
const maxErrorLength = 64

/** An id as stored: cut in the same way in responses and receipts, so that they match. */
export const storedId = (id: string): string => id.slice(0, maxIdLength).toWellFormed()

/** The three octets of the error: network type, then the code in 16 bits (5.3.2.31). */
const networkError = (value: Buffer | undefined): string | null =>
  value?.length === 3 ? String(value.readUInt16BE(1)) : null

/** Octets of ASCII text: printable ones, white space, and a NUL at the end. */
const asciiText = /^[\t\n\r -~]*\0*$/

/** Returns the fields before `text:`, the beginning of the message itself; all of a text that has none before it. */
const fieldsOf = (text: string): string => {
  const [head = ''] = text.split(/\btext\s*:/i, 1)
  return idPattern.test(head) || statPattern.test(head) ? head : text
}

/**
 * Returns the fields of a receipt. Appendix B makes it ASCII, and many carriers send ASCII under any data_coding, such
 * as that of the message. Octets that are ASCII up to `text:`, with a field, are therefore read as such. Other carriers
 * send UTF-16 under another data_coding, or octets of two codings: the first reading that has both fields wins.
 */
const receiptFieldsOf = (pdu: ShortMessagePdu | DataPdu): string => {
  const octets = messageOctets(pdu)
  const ascii = fieldsOf(octets.toString('latin1'))
  const hasId = idPattern.test(ascii)
  const hasStat = statPattern.test(ascii)
  if ((hasId || hasStat) && asciiText.test(ascii)) return ascii
  const labelled = fieldsOf(readUserData(pdu).text)
  const readings = [labelled, fieldsOf(decodeUtf16(octets, false)), fieldsOf(decodeUtf16(octets, true)), ascii]
  return (
    readings.find((text) => idPattern.test(text) && statPattern.test(text)) ??
    readings.find((text) => idPattern.test(text) || statPattern.test(text)) ??
    labelled
  )
}

/** Returns message_state: one octet, which some carriers pad with zeros. */
const stateCodeOf = (pdu: ShortMessagePdu | DataPdu): number | undefined => {
  const value = pdu.tlvs.get(tags.message_state)
  return value?.length ? (value.find((octet) => octet !== 0) ?? 0) : undefined
}

/** Returns the state by message_state, else by the word. A 0, of which SMPP 3.4 knows nothing, gives way to the word. */
const stateOf = (code: number | undefined, word: string): MessageState | null => {
  const byNumber = byCode.get(code ?? Number.NaN) ?? null
  const byText = stateOfWord(word)
  return code === 0 ? (byText ?? byNumber) : (byNumber ?? byText)
}

/**
 * Reads a receipt: the optional parameters first, its text second (appendix B: case, spaces and missing fields are
 * tolerated). Null without a message id. An error of zeros is null.
 * @param own words of the carrier, which go first
 */
export const readReceipt = (pdu: ShortMessagePdu | DataPdu, own: StateWords = new Map()): ReadReceipt | null => {
  const text = receiptFieldsOf(pdu)
  const named = pdu.tlvs.get(tags.receipted_message_id)?.toString('latin1').replace(/\0.*$/s, '')
  const carrierId = named || idPattern.exec(text)?.[1]
  if (!carrierId) return null
  const code = stateCodeOf(pdu)
  const word = statPattern.exec(text)?.[1]?.toUpperCase() ?? ''
  const error = errPattern.exec(text)?.[1] ?? networkError(pdu.tlvs.get(tags.network_error_code))
  const ownState = own.get(word) ?? own.get(String(code))
  return {
    carrierId: storedId(carrierId),
    state: ownState ?? stateOf(code, word),
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
  return pdu.tlvs.has(tags.message_state) || statPattern.test(receiptFieldsOf(pdu))
}

/**
 * True when a message without a type (esm_class) has the text of a receipt. A handset can write such a text: it proves
 * nothing.
 */
export const looksLikeReceipt = (pdu: ShortMessagePdu | DataPdu): boolean => {
  if ((pdu.esmClass & (typeBits | udhIndicator)) !== 0) return false
  const text = receiptFieldsOf(pdu)
  return idPattern.test(text) && statPattern.test(text)
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
