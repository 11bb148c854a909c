import { escapeSeptet, notGsm } from '@trunkline/phone/gsm.ts'
import { type Alphabet, defaultAlphabet, type Shift, septetsOf } from '@trunkline/phone/gsm-national.ts'

/** data_coding values for sending (SMPP 3.4, 5.2.19): the default alphabet and UCS-2. */
export const dataCodings = { gsm7: 0x00, ucs2: 0x08 } as const

const questionMark = 0x3f

/**
 * Encodes GSM 7-bit text, one septet in an octet (unpacked, as in SMPP); `?` replaces characters outside the alphabet.
 */
const encodeGsm = (text: string, shift: Shift | null): Buffer => {
  const septetOf = septetsOf(shift)
  const octets = Buffer.allocUnsafe(text.length * 2)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const septet = septetOf(text.charCodeAt(i))
    if (septet === notGsm) octets[length++] = questionMark
    else {
      if (septet > 0x7f) octets[length++] = escapeSeptet
      octets[length++] = septet & 0x7f
    }
  }
  return octets.subarray(0, length)
}

/** Encodes a text. @param shift the tables of a national language, in GSM 7-bit */
export const encodeText = (text: string, encoding: 'gsm7' | 'ucs2', shift: Shift | null = null): Buffer =>
  encoding === 'gsm7' ? encodeGsm(text, shift) : Buffer.from(text, 'utf16le').swap16()

const decodeGsm = (octets: Buffer, alphabet: Alphabet): string => {
  let text = ''
  for (let i = 0; i < octets.length; i++) {
    const septet = octets[i] ?? 0
    if (septet !== escapeSeptet) text += alphabet.character(septet)
    else if (i + 1 < octets.length) text += alphabet.extended(octets[++i] ?? 0)
  }
  return text
}

/** Encodings that a byte-order mark names (Unicode 16, section 23.8), with its length. */
const byteOrderMarks = [
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { mark: Buffer.from([0xef, 0xbb, 0xbf]), encoding: 'utf-8' },
] as const

export type ByteOrder = (typeof byteOrderMarks)[number]

/** Decodes UTF-16. An odd octet at the end is ignored. */
export const decodeUtf16 = (octets: Buffer, isLittleEndian: boolean): string => {
  const units = Buffer.from(octets.subarray(0, octets.length & ~1))
  return (isLittleEndian ? units : units.swap16()).toString('utf16le')
}

const decodeMarked = (octets: Buffer, { mark, encoding }: ByteOrder): string => {
  const marked = octets.subarray(mark.length)
  const text = encoding === 'utf-8' ? marked.toString('utf8') : decodeUtf16(marked, encoding === 'utf-16le')
  // Handset and carrier may each add a mark.
  return text.replace(/^\ufeff+/, '')
}

/** Charsets that TextDecoder supports, by data_coding. */
const charsets = new Map([
  [0x05, 'shift_jis'],
  [0x06, 'iso-8859-5'],
  [0x07, 'iso-8859-8'],
  [0x0a, 'iso-2022-jp'],
  [0x0d, 'euc-jp'],
  [0x0e, 'euc-kr'],
])

/**
 * Returns the byte-order mark that octets begin with; null without one. Under a coding of `charsets` the octets are
 * characters: no text in the default alphabet, in UCS-2 or in Latin-1 begins with them.
 */
export const byteOrderOf = (octets: Buffer, dataCoding: number): ByteOrder | null =>
  charsets.has(dataCoding)
    ? null
    : (byteOrderMarks.find(({ mark }) => octets.subarray(0, mark.length).equals(mark)) ?? null)

/** IA5, 8-bit data, Latin-1, 8-bit data and pictograms (5.2.19), which are read as Latin-1. */
const latin1Codings: ReadonlySet<number> = new Set([0x01, 0x02, 0x03, 0x04, 0x09])

type CodedAlphabet = 'gsm7' | 'octets' | 'ucs2'

/** Bits 3 and 2 of the general groups. The value 11 is reserved. */
const generalAlphabets: readonly CodedAlphabet[] = ['gsm7', 'octets', 'ucs2', 'gsm7']

/**
 * Returns the alphabet of a coding by the table of 3GPP TS 23.038, section 4:
 * - 00xx general data coding, and 01xx the same for automatic deletion: bits 3 and 2. The bits of compression (5) and
 *   message class (4) do not matter: carriers that set the former send plain text, and TS 23.042 was never deployed.
 * - 1100 and 1101 message waiting: the default alphabet. 1110 the same in UCS-2.
 * - 1111 data coding and message class: bit 2.
 * - 1000 to 1011, and any other reserved coding: the default alphabet.
 */
const alphabetOfGroup = (dataCoding: number): CodedAlphabet => {
  const group = dataCoding >> 4
  if (group < 0x8) return generalAlphabets[(dataCoding >> 2) & 3] ?? 'gsm7'
  if (group === 0xe) return 'ucs2'
  return group === 0xf && (dataCoding & 0x04) !== 0 ? 'octets' : 'gsm7'
}

/**
 * Returns the alphabet of a data_coding. The values that SMPP 3.4, 5.2.19 defines go first: carriers translate into them,
 * and in 3GPP TS 23.038 most of them are reserved. All others (11, 12, 15, and those from 16 on) follow 23.038, to which
 * 5.2.19 refers.
 */
const alphabetOfCoding = (dataCoding: number): CodedAlphabet | 'charset' => {
  if (charsets.has(dataCoding)) return 'charset'
  return latin1Codings.has(dataCoding) ? 'octets' : alphabetOfGroup(dataCoding)
}

/** True for the codings of UCS-2, such as 0x08, 0x18, 0x48 and 0xE8. */
export const isUcs2 = (dataCoding: number): boolean => alphabetOfCoding(dataCoding) === 'ucs2'

/**
 * Decodes a user data field without its header. A byte-order mark rules over the coding, and is removed. Codings of 8-bit
 * data are read as Latin-1, so that no octet is lost.
 * @param alphabet the 7-bit alphabet that the header names
 */
export const decodeText = (octets: Buffer, dataCoding: number, alphabet = defaultAlphabet): string => {
  const order = byteOrderOf(octets, dataCoding)
  if (order) return decodeMarked(octets, order)
  const kind = alphabetOfCoding(dataCoding)
  if (kind === 'charset') return new TextDecoder(charsets.get(dataCoding)).decode(octets)
  if (kind === 'ucs2') return decodeUtf16(octets, false)
  return kind === 'gsm7' ? decodeGsm(octets, alphabet) : octets.toString('latin1')
}
