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

/** An odd octet at the end is ignored. */
const decodeUcs = (octets: Buffer): string =>
  Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString('utf16le')

/** Charsets that TextDecoder supports, by data_coding. */
const charsets = new Map([
  [0x05, 'shift_jis'],
  [0x06, 'iso-8859-5'],
  [0x07, 'iso-8859-8'],
  [0x0a, 'iso-2022-jp'],
  [0x0d, 'euc-jp'],
  [0x0e, 'euc-kr'],
])

/** True for the codings of UCS-2: 8, and 24 to 27 (3GPP TS 23.038, part 4). */
export const isUcs2 = (dataCoding: number): boolean => dataCoding === dataCodings.ucs2 || (dataCoding & 0xfc) === 0x18

/**
 * Decodes a user data field without its header. Codings (SMPP 3.4, 5.2.19): 0 GSM, 1 IA5, 3 Latin-1, 8 UCS-2 and the
 * charsets above; 16 to 31 and 240 to 255 follow 3GPP TS 23.038, part 4. Any other coding, including binary, is read as
 * Latin-1, so that no octet is lost.
 * @param alphabet the 7-bit alphabet that the header names
 */
export const decodeText = (octets: Buffer, dataCoding: number, alphabet = defaultAlphabet): string => {
  if (dataCoding === dataCodings.gsm7) return decodeGsm(octets, alphabet)
  if (isUcs2(dataCoding)) return decodeUcs(octets)
  const group = dataCoding & 0xf0
  if (group === 0x10) {
    const kind = dataCoding & 0x0c
    if (kind !== 0x04) return decodeGsm(octets, alphabet)
  }
  if (group === 0xf0 && (dataCoding & 0x04) === 0) return decodeGsm(octets, alphabet)
  const charset = charsets.get(dataCoding)
  return charset ? new TextDecoder(charset).decode(octets) : octets.toString('latin1')
}
