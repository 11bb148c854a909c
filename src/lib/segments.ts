import { none, septetOf } from './gsm.ts'

/** How the parts of a long message are tied together: a user data header of 6 or 7 octets, the SAR parameters, or one PDU
 *  whose message_payload the carrier splits (3GPP TS 23.040, 9.2.3.24.1 and 9.2.3.24.8; SMPP 3.4, 5.3.2.22 to 5.3.2.32). */
export type LongMode = 'udh8' | 'udh16' | 'sar' | 'payload'

export type Segments = {
  readonly encoding: 'gsm7' | 'ucs2'
  /** The text of each part, in order; one empty part for an empty text. */
  readonly parts: string[]
  /** The first character outside GSM 7-bit, which made the text UCS-2; null for GSM texts. */
  readonly forcedBy: string | null
}

type Capacity = { readonly single: number; readonly part: number }

/** 140 octets hold 160 septets or 70 units; a header of 6 octets leaves 153 or 67, one of 7 leaves 152 or 66. SAR plans
 *  for 7: its reference has 16 bits, so the carrier may make the longer header of it. */
const gsm: Record<LongMode, Capacity> = {
  udh8: { single: 160, part: 153 },
  udh16: { single: 160, part: 152 },
  sar: { single: 160, part: 152 },
  payload: { single: Number.POSITIVE_INFINITY, part: Number.POSITIVE_INFINITY },
}
const ucs: Record<LongMode, Capacity> = {
  udh8: { single: 70, part: 67 },
  udh16: { single: 70, part: 66 },
  sar: { single: 70, part: 66 },
  payload: { single: Number.POSITIVE_INFINITY, part: Number.POSITIVE_INFINITY },
}

/** The septets that a text takes, or, when it is not GSM, minus one minus the index of the character that forbids it. */
const septetsOf = (text: string): number => {
  let count = text.length
  for (let i = 0; i < text.length; i++) {
    const septet = septetOf(text.charCodeAt(i))
    if (septet === none) return -1 - i
    if (septet > 0x7f) count++
  }
  return count
}

/** The end of the GSM part that begins at `from`: never between an escape and its character. */
const gsmEnd = (text: string, from: number, room: number): number => {
  let left = room
  for (let i = from; i < text.length; i++) {
    left -= septetOf(text.charCodeAt(i)) > 0x7f ? 2 : 1
    if (left < 0) return i
  }
  return text.length
}

let graphemes: Intl.Segmenter | undefined

/** True for units that can neither join the unit before them nor be joined by the one after: no look at clusters then. */
const isPlain = (unit: number): boolean => unit < 0x300 && unit !== 0x0a && unit !== 0xa9 && unit !== 0xae

/** The end of the UCS-2 part that begins at `from`: before a cluster that would be cut if it fits in a part of its own,
 *  and never inside a surrogate pair. */
const ucsEnd = (text: string, from: number, room: number): number => {
  const end = from + room
  if (end >= text.length) return text.length
  if (!isPlain(text.charCodeAt(end))) {
    graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
    const cluster = graphemes.segment(text).containing(end)
    if (cluster && cluster.index > from && cluster.index < end && cluster.segment.length <= room) return cluster.index
  }
  const splitsPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(end) & 0xfc00) === 0xdc00
  return splitsPair ? end - 1 : end
}

/** True for a text that GSM 7-bit can carry. */
export const isGsm = (text: string): boolean => septetsOf(text) >= 0

/**
 * How many parts a text is sent in: what `segment` makes of it, without making it (0.2 µs for 60 GSM characters).
 */
export const countParts = (text: string, mode: LongMode = 'udh8'): number => {
  const septets = septetsOf(text)
  const { single, part } = septets < 0 ? ucs[mode] : gsm[mode]
  if ((septets < 0 ? text.length : septets) <= single) return 1
  const endOf = septets < 0 ? ucsEnd : gsmEnd
  let count = 0
  for (let from = 0; from < text.length; from = endOf(text, from, part)) count++
  return count
}

/**
 * Splits a text into the parts that go over the air: 160 septets, or 153 each, in GSM 7-bit; 70 UTF-16 units, or 67 each,
 * in UCS-2 (one fewer in the modes with a longer header; one part in `payload`). Never splits an escape pair or a
 * surrogate pair; moves a grapheme cluster whole to the next part if it fits there, so count the parts, not the length.
 */
export const segment = (text: string, mode: LongMode = 'udh8'): Segments => {
  const septets = septetsOf(text)
  const isGsm = septets >= 0
  const encoding = isGsm ? 'gsm7' : 'ucs2'
  const forcedBy = isGsm ? null : String.fromCodePoint(text.codePointAt(-1 - septets) ?? 0)
  const { single, part } = isGsm ? gsm[mode] : ucs[mode]
  if ((isGsm ? septets : text.length) <= single) return { encoding, parts: [text], forcedBy }

  const endOf = isGsm ? gsmEnd : ucsEnd
  const parts: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = endOf(text, from, part)
    parts.push(text.slice(from, end))
    from = end
  }
  return { encoding, parts, forcedBy }
}
