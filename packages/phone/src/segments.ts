import { notGsm, septetOf } from './gsm.ts'
import { type Language, type SeptetOf, type Shift, septetsOf as septetsBy, shiftsOf } from './gsm-national.ts'

/** Concatenation of a long message: a user data header of 6 or 7 octets, the SAR parameters, or one PDU whose
 *  message_payload the carrier splits (3GPP TS 23.040, 9.2.3.24.1 and 9.2.3.24.8; SMPP 3.4, 5.3.2.22 to 5.3.2.32). */
export type ConcatenationMode = 'udh8' | 'udh16' | 'sar' | 'payload'

/** Header that a text is segmented for. */
export type SegmentHeader = Extract<ConcatenationMode, 'udh8' | 'udh16'>

export type Segments = {
  readonly encoding: 'gsm7' | 'ucs2'
  /** National language tables of a `gsm7` text; null for the default alphabet. */
  readonly shift: Shift | null
  /** The text of each part, in order; one empty part for an empty text. */
  readonly parts: string[]
  /** First character outside GSM 7-bit, which requires UCS-2; null for GSM texts. */
  readonly forcedBy: string | null
}

type Capacity = { readonly single: number; readonly part: number }

/** 140 octets hold 160 septets or 70 units; a header of 6 octets leaves 153 or 67, one of 7 leaves 152 or 66. SAR plans
 *  for 7: its reference has 16 bits, so the carrier may make the longer header of it. */
const gsmCapacities: Record<ConcatenationMode, Capacity> = {
  udh8: { single: 160, part: 153 },
  udh16: { single: 160, part: 152 },
  sar: { single: 160, part: 152 },
  payload: { single: Number.POSITIVE_INFINITY, part: Number.POSITIVE_INFINITY },
}
const ucsCapacities: Record<ConcatenationMode, Capacity> = {
  udh8: { single: 70, part: 67 },
  udh16: { single: 70, part: 66 },
  sar: { single: 70, part: 66 },
  payload: { single: Number.POSITIVE_INFINITY, part: Number.POSITIVE_INFINITY },
}

/** Returns the capacity. A user data header has its length, 3 octets per national language table, and the concatenation
 *  element. */
const gsmCapacity = (mode: ConcatenationMode, shift: Shift | null): Capacity => {
  if (shift === null) return gsmCapacities[mode]
  const tables = (shift.locking === 0 ? 0 : 3) + (shift.single === 0 ? 0 : 3)
  const septets = (header: number) => Math.floor(((140 - header) * 8) / 7)
  return { single: septets(1 + tables), part: septets(1 + tables + (mode === 'udh8' ? 5 : 6)) }
}

/** Returns the number of septets of a text, or -1 - i if the character at index i is not GSM. */
const septetsOf = (text: string, septetOf: SeptetOf): number => {
  let count = text.length
  for (let i = 0; i < text.length; i++) {
    const septet = septetOf(text.charCodeAt(i))
    if (septet === notGsm) return -1 - i
    if (septet > 0x7f) count++
  }
  return count
}

/** Returns the end of the GSM part that begins at `from`: never between an escape and its character. */
const gsmEnd = (text: string, from: number, room: number, septetOf: SeptetOf): number => {
  let left = room
  for (let i = from; i < text.length; i++) {
    left -= septetOf(text.charCodeAt(i)) > 0x7f ? 2 : 1
    if (left < 0) return i
  }
  return text.length
}

let graphemes: Intl.Segmenter | undefined

/** True for units that never combine with a neighbour, so that clusters need not be checked. */
const isPlain = (unit: number): boolean => unit < 0x300 && unit !== 0x0a && unit !== 0xa9 && unit !== 0xae

/** Returns the end of the UCS-2 part that begins at `from`: before a cluster that would be split but fits in one part,
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
export const isGsm = (text: string): boolean => septetsOf(text, septetOf) >= 0

/** Segmentation of a text: its septets or units, the capacity, and the end of each part. */
type Segmentation = {
  readonly size: number
  readonly capacity: Capacity
  end(from: number): number
}

const gsmSegmentation = (text: string, size: number, mode: ConcatenationMode, shift: Shift | null): Segmentation => {
  const capacity = gsmCapacity(mode, shift)
  const septetOf = septetsBy(shift)
  return { size, capacity, end: (from) => gsmEnd(text, from, capacity.part, septetOf) }
}

const ucsSegmentation = (text: string, mode: ConcatenationMode): Segmentation => {
  const capacity = ucsCapacities[mode]
  return { size: text.length, capacity, end: (from) => ucsEnd(text, from, capacity.part) }
}

const countOf = (text: string, { size, capacity, end }: Segmentation): number => {
  if (size <= capacity.single) return 1
  let count = 0
  for (let from = 0; from < text.length; from = end(from)) count++
  return count
}

type AlphabetChoice = {
  readonly segmentation: Segmentation
  readonly shift: Shift | null
  readonly forbids: number | null
}

/** Chooses the alphabet of a text; `forbids` is the index of the character that requires UCS-2. */
const chooseAlphabet = (text: string, mode: ConcatenationMode, languages: readonly Language[]): AlphabetChoice => {
  const septets = septetsOf(text, septetOf)
  if (septets >= 0) return { segmentation: gsmSegmentation(text, septets, mode, null), shift: null, forbids: null }
  let best: AlphabetChoice = { segmentation: ucsSegmentation(text, mode), shift: null, forbids: -1 - septets }
  let fewest = languages.length === 0 ? 0 : countOf(text, best.segmentation)
  for (const shift of languages.flatMap(shiftsOf)) {
    const size = fewest > 1 ? septetsOf(text, septetsBy(shift)) : -1
    if (size < 0) continue
    const cut = gsmSegmentation(text, size, mode, shift)
    const count = countOf(text, cut)
    if (count >= fewest) continue
    best = { segmentation: cut, shift, forbids: null }
    fewest = count
  }
  return best
}

/** Returns the number of parts that `segment` makes of a text, without making them. */
export const countParts = (text: string, mode: ConcatenationMode = 'udh8'): number =>
  countOf(text, chooseAlphabet(text, mode, []).segmentation)

const splitText = (text: string, { size, capacity, end }: Segmentation): string[] => {
  if (size <= capacity.single) return [text]
  const parts: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = end(from)
    parts.push(text.slice(from, to))
    from = to
  }
  return parts
}

/**
 * Splits a text into message parts: 160 septets, or 153 each, in GSM 7-bit; 70 UTF-16 units, or 67 each, in UCS-2 (one
 * fewer in the modes with a longer header; one part in `payload`). Never splits an escape pair or a surrogate pair.
 * A grapheme cluster moves whole to the next part if it fits there, so count the parts, not the length.
 * @param shift tables of `segmentIn`: 155 septets, or 149 each, with one table, and 152, or 146, with two
 */
export const segment = (text: string, mode: ConcatenationMode = 'udh8', shift: Shift | null = null): Segments => {
  if (shift !== null) {
    const cut = gsmSegmentation(text, septetsOf(text, septetsBy(shift)), mode, shift)
    return { encoding: 'gsm7', shift, parts: splitText(text, cut), forcedBy: null }
  }
  return segmentIn(text, mode, [])
}

/**
 * Splits a text as `segment` does, with the tables of one of these languages if it then takes fewer parts than in UCS-2.
 * A text of the default alphabet needs none. A single part stays UCS-2, which more handsets support.
 */
export const segmentIn = (text: string, mode: ConcatenationMode, languages: readonly Language[]): Segments => {
  const { segmentation, shift, forbids } = chooseAlphabet(text, mode, languages)
  const forcedBy = forbids === null ? null : String.fromCodePoint(text.codePointAt(forbids) ?? 0)
  return { encoding: forbids === null ? 'gsm7' : 'ucs2', shift, parts: splitText(text, segmentation), forcedBy }
}
