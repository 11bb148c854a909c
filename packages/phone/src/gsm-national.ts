import { characterOf, escapeSeptet, extensionOf, notGsm, septetOf } from './gsm.ts'

/** A 7-bit alphabet: its base characters and those after an escape. */
export type Alphabet = { character(septet: number): string; extended(septet: number): string }

/** Characters by septet; undefined septets have no entry. */
type Table = ReadonlyMap<number, string>

/** Code points in hexadecimal, `-` between the ends of a range. */
const characters = (codes: string): string[] =>
  codes.split(' ').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map((code) => Number.parseInt(code, 16))
    return Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i))
  })

const table = (...runs: [first: number, characters: string][]): Table =>
  new Map(runs.flatMap(([first, text]) => [...text].map((character, i) => [first + i, character] as const)))

/** Septets of an Arabic or Indic locking table that hold letters, in order: all but digits, a to z and some signs. */
const letterSeptets = characters('0-9 b-c e-1a 1c-1f 22-27 2a-2b 2d 2f 3c-3e 40-60 7b-7f').map((one) =>
  one.charCodeAt(0),
)

/** The other septets of these tables: signs, digits and a to z. */
const lockingSigns = table([0x0a, '\n'], [0x0d, '\r'], [0x20, ' !'], [0x28, ')('], [0x2c, ','], [0x2e, '.'])

const lockingOf = (letters: readonly string[]): Table =>
  new Map([...lockingSigns, ...letterSeptets.map((septet, i) => [septet, letters[i] ?? ' '] as const)])

/** The letters that the Indic tables share, as offsets into the script's Unicode block. */
const indicOffsets = characters('1-3 5-39 3c-4d').map((one) => one.charCodeAt(0))

/**
 * @param base the first code point of the script's Unicode block
 * @param gaps offsets of letters that the table leaves out
 * @param last the code points at 0x60 and from 0x7B on
 */
const indic = (base: number, gaps: string, last: string): Table => {
  const missing = new Set(gaps === '' ? [] : characters(gaps).map((one) => one.charCodeAt(0)))
  const letters = indicOffsets.map((offset) => (missing.has(offset) ? ' ' : String.fromCodePoint(base + offset)))
  return lockingOf([...letters, ...characters(last)])
}

/** National language identifiers (3GPP TS 23.038, 6.2.1.2.4). */
const languages = {
  turkish: 1,
  spanish: 2,
  portuguese: 3,
  bengali: 4,
  gujarati: 5,
  hindi: 6,
  kannada: 7,
  malayalam: 8,
  oriya: 9,
  punjabi: 10,
  tamil: 11,
  telugu: 12,
  urdu: 13,
}

/** Locking shift tables (annex A.3), in place of the base alphabet. */
const locking = new Map<number, Table>([
  [languages.turkish, table([0x04, '€'], [0x07, 'ı'], [0x0b, 'Ğğ'], [0x1c, 'Şş'], [0x40, 'İ'], [0x60, 'ç'])],
  [
    languages.portuguese,
    table(
      [0x04, 'ê'],
      [0x06, 'úíóç'],
      [0x0b, 'Ôô'],
      [0x0e, 'Áá'],
      [0x12, 'ªÇÀ∞^\\€Ó|'],
      [0x1c, 'ÂâÊ'],
      [0x24, 'º'],
      [0x40, 'Í'],
      [0x5b, 'ÃÕÚ'],
      [0x60, '~'],
      [0x7b, 'ãõ`'],
    ),
  ],
  [languages.bengali, indic(0x980, 'd-e 11-12 29 31 33-35 45-46 49-4a', '9ce 9d7 9dc-9dd 9f0-9f1')],
  [languages.gujarati, indic(0xa80, 'e 12 29 31 34 46 4a', 'ad0 ae0-ae3 af1')],
  [languages.hindi, indic(0x900, '', '950 972 97b-97c 97e-97f')],
  [languages.kannada, indic(0xc80, '1 d 11 29 34 45 49', 'cd5-cd6 ce0-ce3')],
  [languages.malayalam, indic(0xd00, '1 d 11 29 3c 45 49', 'd57 d60-d63 d79')],
  [languages.oriya, indic(0xb00, 'd-e 11-12 29 31 34 45-46 49-4a', 'b56-b57 b60-b63')],
  [languages.punjabi, indic(0xa00, 'b-e 11-12 29 31 34 37 3d 43-46 49-4a', 'a51 a70-a74')],
  [languages.tamil, indic(0xb80, '1 b-d 11 16-18 1b 1d 20-22 25-27 2b-2d 3c-3d 43-45 49', 'bd0 bd7 bf0-bf2 bf9')],
  [languages.telugu, indic(0xc00, 'd 11 29 34 3c 45 49', 'c55-c56 c60-c63')],
  [
    languages.urdu,
    lockingOf(
      characters(
        '627 622 628 67b 680 67e 6a6 62a 6c2 67f 679 67d 67a 67c 62b-62c 681 684 683 685-687 62d-62f 68c 688-68a 68f 68d ' +
          '630-631 691 693 699 632 696 698 69a 633-639 641-642 6a9-6ab 6af 6b3 6b1 644-646 6ba-6bc 648 6c4 6d5 6c1 6be ' +
          '621 6cc 6d0 6d2 64d 650 64f 657 654-655 651 653 656 670',
      ),
    ),
  ],
])

/** The septets of the Arabic and Indic single shift tables that differ by language, in order. */
const singleSeptets = characters('19-1a 1c-27 2a-2e 30-3b 3f').map((one) => one.charCodeAt(0))

/** Signs and capitals that these tables share. */
const singleSigns = table(
  [0x00, '@£$¥¿"¤%&\'\f*+'],
  [0x0e, '-/<=>¡^¡_#*'],
  [0x28, '{}'],
  [0x2f, '\\'],
  [0x3c, '[~]'],
  [0x40, '|ABCDEFGHIJKLMNOPQRSTUVWXYZ'],
  [0x65, '€'],
)

/** @param skipped septets at the beginning that the table leaves undefined */
const shifted = (codes: string, skipped = 0): Table =>
  new Map([...singleSigns, ...characters(codes).map((one, i) => [singleSeptets[i + skipped] ?? 0, one] as const)])

/** Single shift tables (annex A.2), after an escape. */
const single = new Map<number, Table>([
  [languages.turkish, table([0x47, 'Ğ'], [0x49, 'İ'], [0x53, 'Ş'], [0x63, 'ç'], [0x67, 'ğ'], [0x69, 'ı'], [0x73, 'ş'])],
  [
    languages.spanish,
    table(
      [0x09, 'ç'],
      [0x41, 'Á'],
      [0x49, 'Í'],
      [0x4f, 'Ó'],
      [0x55, 'Ú'],
      [0x61, 'á'],
      [0x69, 'í'],
      [0x6f, 'ó'],
      [0x75, 'ú'],
    ),
  ],
  [
    languages.portuguese,
    table(
      [0x05, 'ê'],
      [0x09, 'ç'],
      [0x0b, 'Ôô'],
      [0x0e, 'Áá'],
      [0x12, 'ΦΓ'],
      [0x15, 'ΩΠΨΣΘ'],
      [0x1f, 'Ê'],
      [0x41, 'À'],
      [0x49, 'Í'],
      [0x4f, 'Ó'],
      [0x55, 'Ú'],
      [0x5b, 'ÃÕ'],
      [0x61, 'Â'],
      [0x69, 'í'],
      [0x6f, 'ó'],
      [0x75, 'ú'],
      [0x7b, 'ãõ'],
      [0x7f, 'â'],
    ),
  ],
  [languages.bengali, shifted('9e6-9ef 9df-9e3 9f2-9fa')],
  [languages.gujarati, shifted('964-965 ae6-aef')],
  [languages.hindi, shifted('964-96f 951-954 958-963 970-971')],
  [languages.kannada, shifted('964-965 ce6-cef cde cf1-cf2')],
  [languages.malayalam, shifted('964-965 d66-d75 d7a-d7f')],
  [languages.oriya, shifted('964-965 b66-b6f b5c-b5d b5f b70-b71')],
  [languages.punjabi, shifted('964-965 a66-a6f a59-a5c a5e a75')],
  [languages.tamil, shifted('964-965 be6-bef bf3-bf8 bfa')],
  [languages.telugu, shifted('c66-c6f c58-c59 c78-c7f', 2)],
  [languages.urdu, shifted('600-601 6f0-6f9 60c-614 61b 61f 640 652 658 66b-66c 672-673 6cd 6d4')],
])

/**
 * Returns the alphabet of the national language identifiers in a user data header, 0 for none. Unknown languages use
 * the default tables. A septet that a single shift table leaves undefined reads as in the base table (A.2).
 */
export const alphabetOf = (lockingLanguage: number, singleLanguage: number): Alphabet => {
  const base = locking.get(lockingLanguage)
  const after = single.get(singleLanguage)
  const character = (septet: number) => base?.get(septet) ?? characterOf(septet)
  return { character, extended: (septet) => after?.get(septet) ?? extensionOf(septet) ?? character(septet) }
}

export const defaultAlphabet: Alphabet = alphabetOf(0, 0)

export type Language = keyof typeof languages

// The keys of an object of ours.
export const languageNames = Object.keys(languages) as Language[]

/** Tables of a text: national language identifiers, 0 for the default table. */
export type Shift = { readonly locking: number; readonly single: number }

/** Returns the table combinations of a language: single shift, locking shift, or both. Spanish has no locking table. */
export const shiftsOf = (language: Language): Shift[] => {
  const id = languages[language]
  const after = { locking: 0, single: id }
  return locking.has(id) ? [after, { locking: id, single: 0 }, { locking: id, single: id }] : [after]
}

/** Function like `septetOf` of gsm.ts: bit 7 is set for an escape, `notGsm` for a character outside the tables. */
export type SeptetOf = (unit: number) => number

const makeSeptets = (shift: Shift): SeptetOf => {
  const alphabet = alphabetOf(shift.locking, shift.single)
  const septets = new Map<number, number>()
  const add = (character: string | undefined, septet: number) => {
    const unit = character?.charCodeAt(0)
    if (unit !== undefined && !septets.has(unit)) septets.set(unit, septet)
  }
  // Set first, because gaps of the tables also read as spaces.
  add(' ', 0x20)
  for (let septet = 0; septet < 128; septet++) if (septet !== escapeSeptet) add(alphabet.character(septet), septet)
  const after = single.get(shift.single)
  for (let septet = 0; septet < 128; septet++) add(after?.get(septet) ?? extensionOf(septet), 0x80 | septet)
  return (unit) => septets.get(unit) ?? notGsm
}

const encoders = new Map<number, SeptetOf>()

/** Returns the encoder of the tables of a shift; null for the default tables. */
export const septetsOf = (shift: Shift | null): SeptetOf => {
  if (shift === null) return septetOf
  const key = (shift.locking << 8) | shift.single
  const known = encoders.get(key) ?? makeSeptets(shift)
  encoders.set(key, known)
  return known
}
