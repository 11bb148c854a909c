import { alphabetOf } from './national.ts'
import { type Data, type Message, tags } from './pdu.ts'
import { decodeText, isUcs2 } from './text.ts'

/** Which part of which long message a short message is. The reference has 8 or 16 bits. */
export type Concat = { readonly reference: number; readonly part: number; readonly parts: number }

/** esm_class bit: a user data header stands before the text (SMPP 3.4, 5.2.12). */
export const udhIndicator = 0x40

/** Information element identifiers: concatenation and national languages (3GPP TS 23.040, 9.2.3.24). */
const elements = { concat8: 0x00, concat16: 0x08, singleShift: 0x24, lockingShift: 0x25 }

/** The header that ties parts together by an 8-bit reference (3GPP TS 23.040, 9.2.3.24.1). */
export const concat8 = ({ reference, part, parts }: Concat): Buffer =>
  Buffer.from([5, elements.concat8, 3, reference & 0xff, parts, part])

/** The same by a 16-bit reference (9.2.3.24.8). */
export const concat16 = ({ reference, part, parts }: Concat): Buffer =>
  Buffer.from([6, elements.concat16, 4, (reference >> 8) & 0xff, reference & 0xff, parts, part])

/** The same as optional parameters (SMPP 3.4, 5.3.2.22 to 5.3.2.24). */
export const sarTlvs = ({ reference, part, parts }: Concat): [number, Buffer][] => [
  [tags.sar_msg_ref_num, Buffer.from([(reference >> 8) & 0xff, reference & 0xff])],
  [tags.sar_total_segments, Buffer.from([parts])],
  [tags.sar_segment_seqnum, Buffer.from([part])],
]

/** A concatenation that makes sense, or null: an element of no parts, or of a part beyond them, is ignored (9.2.3.24.1). */
const sound = (reference: number, parts: number, part: number): Concat | null =>
  parts > 0 && part > 0 && part <= parts ? { reference, part, parts } : null

/** National language identifiers of the shift tables, 0 for none. */
type Header = { readonly concat: Concat | null; readonly lockingShift: number; readonly singleShift: number }

const noHeader: Header = { concat: null, lockingShift: 0, singleShift: 0 }

const readHeader = (header: Buffer): Header => {
  let concat: Concat | null = null
  let singleShift = 0
  let lockingShift = 0
  for (let at = 0; at + 2 <= header.length; ) {
    const element = header[at]
    const length = header[at + 1] ?? 0
    const value = header.subarray(at + 2, at + 2 + length)
    if (value.length < length) break
    const [a = 0, b = 0, c = 0, d = 0] = value
    if (element === elements.concat8 && length === 3) concat = sound(a, b, c)
    if (element === elements.concat16 && length === 4) concat = sound((a << 8) | b, c, d)
    if (element === elements.singleShift && length === 1) singleShift = a
    if (element === elements.lockingShift && length === 1) lockingShift = a
    at += 2 + length
  }
  return { concat, lockingShift, singleShift }
}

const readSar = (tlvs: Message['tlvs']): Concat | null => {
  const reference = tlvs.get(tags.sar_msg_ref_num)
  const parts = tlvs.get(tags.sar_total_segments)
  const part = tlvs.get(tags.sar_segment_seqnum)
  if (reference?.length !== 2 || parts?.length !== 1 || part?.length !== 1) return null
  return sound(reference.readUInt16BE(0), parts[0] ?? 0, part[0] ?? 0)
}

/** Octets of a text, and how to read them: data_coding, and from bits 8 and 16 on the single and the locking shift table. */
export type Octets = { readonly octets: Buffer; readonly coding: number }

const textOf = ({ octets, coding }: Octets): string =>
  decodeText(octets, coding & 0xff, alphabetOf(coding >> 16, (coding >> 8) & 0xff))

/** Octets of parts as one run. A lone odd octet in UCS-2 is padding unless the parts split a character between them. */
const joined = (run: readonly Octets[], coding: number): Octets => {
  const octets = Buffer.concat(run.map((one) => one.octets))
  const isPadded = isUcs2(coding & 0xff) && octets.length % 2 === 1
  return {
    coding,
    octets: isPadded ? Buffer.concat(run.map((one) => one.octets.subarray(0, one.octets.length & ~1))) : octets,
  }
}

/** The text of parts in order. Neighbours of one coding are decoded together: they may split a character between them. */
export const decodeParts = (parts: readonly (Octets & { readonly part: number })[]): string => {
  const runs: (Octets & { part: number })[][] = []
  for (const one of parts) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    if (run && last && last.coding === one.coding && last.part + 1 === one.part) run.push(one)
    else runs.push([one])
  }
  return runs.map((run) => textOf(joined(run, run[0]?.coding ?? 0))).join('')
}

export type UserData = { text: string; concat: Concat | null; raw?: Octets }

/**
 * The text of a message and its place in a longer one: from short_message or message_payload, with the user data header
 * taken off, by header or SAR parameters. A header longer than the field is taken for text. Parts of a longer text come
 * with their octets: see `decodeParts`.
 */
export const readUserData = (pdu: Message | Data): UserData => {
  const payload = pdu.tlvs.get(tags.message_payload)
  const octets = payload ?? (pdu.command === 'data_sm' ? Buffer.alloc(0) : pdu.shortMessage)
  const headerEnd = (octets[0] ?? 0) + 1
  const hasHeader = (pdu.esmClass & udhIndicator) !== 0 && octets.length >= headerEnd
  const header = hasHeader ? readHeader(octets.subarray(1, headerEnd)) : noHeader
  const concat = header.concat ?? readSar(pdu.tlvs)
  const coding = pdu.dataCoding | (header.singleShift << 8) | (header.lockingShift << 16)
  const raw = { octets: hasHeader ? octets.subarray(headerEnd) : octets, coding }
  const text = textOf(raw)
  return concat && concat.parts > 1 ? { text, concat, raw } : { text, concat: null }
}
