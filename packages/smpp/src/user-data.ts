import { alphabetOf, type Shift } from '@trunkline/phone/gsm-national.ts'
import { type DataPdu, type ShortMessagePdu, tags } from './pdu.ts'
import { type ByteOrder, byteOrderOf, decodeText, isUcs2 } from './text-encoding.ts'

/** The place of a short message in a longer one. The reference has 8 or 16 bits. */
export type Concatenation = { readonly reference: number; readonly part: number; readonly parts: number }

/** esm_class bit: a user data header precedes the text (SMPP 3.4, 5.2.12). */
export const udhIndicator = 0x40

/** Information element identifiers: concatenation and national languages (3GPP TS 23.040, 9.2.3.24). */
const informationElements = { concat8: 0x00, concat16: 0x08, singleShift: 0x24, lockingShift: 0x25 }

/** The header that concatenates parts by an 8-bit reference (3GPP TS 23.040, 9.2.3.24.1). */
export const concat8 = ({ reference, part, parts }: Concatenation): Buffer =>
  Buffer.from([5, informationElements.concat8, 3, reference & 0xff, parts, part])

/** The header that concatenates parts by a 16-bit reference (9.2.3.24.8). */
export const concat16 = ({ reference, part, parts }: Concatenation): Buffer =>
  Buffer.from([6, informationElements.concat16, 4, (reference >> 8) & 0xff, reference & 0xff, parts, part])

/** Adds the elements that name the tables of a national language (9.2.3.24.15 and 9.2.3.24.16). */
export const withShift = (header: Buffer | null, { locking, single }: Shift): Buffer => {
  const named = [
    ...(locking === 0 ? [] : [informationElements.lockingShift, 1, locking]),
    ...(single === 0 ? [] : [informationElements.singleShift, 1, single]),
  ]
  const body = [...(header?.subarray(1) ?? []), ...named]
  return Buffer.from([body.length, ...body])
}

/** Concatenation as optional parameters (SMPP 3.4, 5.3.2.22 to 5.3.2.24). */
export const sarTlvs = ({ reference, part, parts }: Concatenation): [number, Buffer][] => [
  [tags.sar_msg_ref_num, Buffer.from([(reference >> 8) & 0xff, reference & 0xff])],
  [tags.sar_total_segments, Buffer.from([parts])],
  [tags.sar_segment_seqnum, Buffer.from([part])],
]

/** A valid concatenation, or null: an element of no parts, or of a part beyond them, is ignored (9.2.3.24.1). */
const validConcatenation = (reference: number, parts: number, part: number): Concatenation | null =>
  parts > 0 && part > 0 && part <= parts ? { reference, part, parts } : null

/** National language identifiers of the shift tables; 0 for none. */
type UserDataHeader = {
  readonly concat: Concatenation | null
  readonly lockingShift: number
  readonly singleShift: number
}

const noHeader: UserDataHeader = { concat: null, lockingShift: 0, singleShift: 0 }

const readHeader = (header: Buffer): UserDataHeader => {
  let concat: Concatenation | null = null
  let singleShift = 0
  let lockingShift = 0
  for (let at = 0; at + 2 <= header.length; ) {
    const element = header[at]
    const length = header[at + 1] ?? 0
    const value = header.subarray(at + 2, at + 2 + length)
    if (value.length < length) break
    const [a = 0, b = 0, c = 0, d = 0] = value
    if (element === informationElements.concat8 && length === 3) concat = validConcatenation(a, b, c)
    if (element === informationElements.concat16 && length === 4) concat = validConcatenation((a << 8) | b, c, d)
    if (element === informationElements.singleShift && length === 1) singleShift = a
    if (element === informationElements.lockingShift && length === 1) lockingShift = a
    at += 2 + length
  }
  return { concat, lockingShift, singleShift }
}

const readSar = (tlvs: ShortMessagePdu['tlvs']): Concatenation | null => {
  const reference = tlvs.get(tags.sar_msg_ref_num)
  const parts = tlvs.get(tags.sar_total_segments)
  const part = tlvs.get(tags.sar_segment_seqnum)
  if (reference?.length !== 2 || parts?.length !== 1 || part?.length !== 1) return null
  return validConcatenation(reference.readUInt16BE(0), parts[0] ?? 0, part[0] ?? 0)
}

/**
 * Octets of a text, and their coding. `coding` holds data_coding in bits 0 to 7, the single shift table from bit 8 and
 * the locking shift table from bit 16.
 */
export type EncodedText = { readonly octets: Buffer; readonly coding: number }

const decodeEncodedText = ({ octets, coding }: EncodedText): string =>
  decodeText(octets, coding & 0xff, alphabetOf(coding >> 16, (coding >> 8) & 0xff))

/**
 * Returns the octets of a later part in the byte order of the first one, without a mark of its own: some handsets mark
 * each part.
 * @param order of the first part; null: big-endian, as UCS-2 is
 */
const inOrder = (octets: Buffer, order: ByteOrder | null, coding: number): Buffer => {
  const own = byteOrderOf(octets, coding & 0xff)
  if (!own) return octets
  const text = octets.subarray(own.mark.length)
  const expected = order?.encoding ?? 'utf-16be'
  if (own.encoding === expected) return text
  if (expected === 'utf-8') return octets
  return own.encoding === 'utf-8' || text.length % 2 === 1 ? octets : Buffer.from(text).swap16()
}

/** Joins the octets of parts. A lone odd octet in UCS-2 is padding unless the parts split a character between them. */
const joinParts = (run: readonly EncodedText[], coding: number): EncodedText => {
  const parts = run.map(({ octets }) => octets)
  const order = byteOrderOf(parts[0] ?? Buffer.alloc(0), coding & 0xff)
  const isWide = order ? order.encoding !== 'utf-8' : isUcs2(coding & 0xff)
  const isPadded = isWide && parts.reduce((sum, { length }) => sum + length, 0) % 2 === 1
  let length = 0
  const joined = parts.map((octets) => {
    const whole = isPadded ? octets.subarray(0, octets.length & ~1) : octets
    // Within a split character of UTF-16, octets that look like a mark are text; in UTF-8 none do.
    const isMarkable = order?.encoding === 'utf-8' || (isWide && length % 2 === 0)
    const part = isMarkable && length > 0 ? inOrder(whole, order, coding) : whole
    length += part.length
    return part
  })
  return { coding, octets: Buffer.concat(joined) }
}

/**
 * Decodes the text of parts in order. Neighbours with one coding are decoded together: they may split a character
 * between them.
 */
export const decodeParts = (parts: readonly (EncodedText & { readonly part: number })[]): string => {
  const runs: (EncodedText & { part: number })[][] = []
  for (const one of parts) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    if (run && last && last.coding === one.coding && last.part + 1 === one.part) run.push(one)
    else runs.push([one])
  }
  return runs.map((run) => decodeEncodedText(joinParts(run, run[0]?.coding ?? 0))).join('')
}

/**
 * The field of a message that is filled: message_payload (5.3.2.32), else short_message. An empty payload is none, and
 * so is one of NULs beside a filled short_message.
 */
const filledField = (pdu: ShortMessagePdu | DataPdu): Buffer => {
  const payload = pdu.tlvs.get(tags.message_payload) ?? Buffer.alloc(0)
  const short = pdu.command === 'data_sm' ? Buffer.alloc(0) : pdu.shortMessage
  return short.length === 0 || payload.some((octet) => octet !== 0) ? payload : short
}

/** Splits off the user data header; null without one. A header longer than the field counts as text. */
const splitHeader = (pdu: ShortMessagePdu | DataPdu): { header: Buffer | null; octets: Buffer } => {
  const field = filledField(pdu)
  const headerEnd = (field[0] ?? 0) + 1
  const hasHeader = (pdu.esmClass & udhIndicator) !== 0 && field.length >= headerEnd
  return hasHeader
    ? { header: field.subarray(1, headerEnd), octets: field.subarray(headerEnd) }
    : { header: null, octets: field }
}

/** Returns the octets of a message without its user data header. */
export const messageOctets = (pdu: ShortMessagePdu | DataPdu): Buffer => splitHeader(pdu).octets

export type UserData = { text: string; concat: Concatenation | null; raw?: EncodedText }

/**
 * Reads the text of a message and its place in a longer one. Concatenation is read from the user data header or the SAR
 * parameters. Parts of a longer text include their octets for `decodeParts`.
 */
export const readUserData = (pdu: ShortMessagePdu | DataPdu): UserData => {
  const { header: found, octets } = splitHeader(pdu)
  const header = found ? readHeader(found) : noHeader
  const concat = header.concat ?? readSar(pdu.tlvs)
  const coding = pdu.dataCoding | (header.singleShift << 8) | (header.lockingShift << 16)
  const raw = { octets, coding }
  const text = decodeEncodedText(raw)
  return concat && concat.parts > 1 ? { text, concat, raw } : { text, concat: null }
}
