import { characterOf, extendedOf } from '../../../lib/gsm.ts'

/** A 7-bit alphabet: its base characters and those after an escape. */
export type Alphabet = { character(septet: number): string; extended(septet: number): string }

export const defaultAlphabet: Alphabet = { character: characterOf, extended: extendedOf }

/** Where a national table differs from the default one: runs of a first septet and the characters from there on. */
type Table = ReadonlyMap<number, string>

const table = (...runs: [first: number, characters: string][]): Table =>
  new Map(runs.flatMap(([first, characters]) => [...characters].map((character, i) => [first + i, character] as const)))

/** National language identifiers (3GPP TS 23.038, 6.2.1.2.4). */
const languages = { turkish: 1, spanish: 2, portuguese: 3 }

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
])

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
])

/** The alphabet of the national language identifiers in a user data header, 0 for none; the default alphabet stands in
 *  for what a table lacks, and for a language that is not known here. */
export const alphabetOf = (lockingLanguage: number, singleLanguage: number): Alphabet => {
  const base = locking.get(lockingLanguage)
  const after = single.get(singleLanguage)
  if (!base && !after) return defaultAlphabet
  return {
    character: (septet) => base?.get(septet) ?? characterOf(septet),
    extended: (septet) => after?.get(septet) ?? extendedOf(septet),
  }
}
