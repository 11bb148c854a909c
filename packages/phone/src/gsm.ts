/**
 * The GSM 7-bit default alphabet and its extension (3GPP TS 23.038, 6.2.1 and 6.2.1.1), from code points to septets and
 * back. 0x1B is the escape and has no character.
 */

const base =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'

const extension: readonly (readonly [septet: number, character: string])[] = [
  [0x0a, '\f'],
  [0x14, '^'],
  [0x28, '{'],
  [0x29, '}'],
  [0x2f, '\\'],
  [0x3c, '['],
  [0x3d, '~'],
  [0x3e, ']'],
  [0x40, '|'],
  [0x65, '€'],
]

export const escapeSeptet = 0x1b

/** Result of `septetOf` for a character outside both tables. */
export const notGsm = 0xff

/** The euro sign is the highest character in the tables. */
const tableSize = 0x20ad

const septets = new Uint8Array(tableSize).fill(notGsm)
for (let septet = 0; septet < 128; septet++) {
  if (septet !== escapeSeptet) septets[base.charCodeAt(septet)] = septet
}
for (const [septet, character] of extension) septets[character.charCodeAt(0)] = 0x80 | septet

/** Returns the septet of a UTF-16 unit, with bit 7 set if it needs an escape; `notGsm` outside GSM 7-bit. */
export const septetOf = (unit: number): number => (unit < tableSize ? (septets[unit] ?? notGsm) : notGsm)

const characters = [...base]
const extended = new Map(extension)

/** Returns the character of a septet; a lone escape reads as a space (23.038, 6.2.1, note 1). */
export const characterOf = (septet: number): string =>
  septet === escapeSeptet ? ' ' : (characters[septet & 0x7f] ?? ' ')

/** Returns the character of a septet after an escape, if the extension table has one (23.038, 6.2.1.1). */
export const extensionOf = (septet: number): string | undefined => extended.get(septet)
