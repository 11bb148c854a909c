// Segments of an SMS while it is typed, before the server has answered. 3GPP TS 23.038, section 6.2.1; TS 23.040, 9.2.3.24.1.

const basic =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const extended = '^{}\\[~]|€\f'

const widths = new Map([...[...basic].map((c) => [c, 1] as const), ...[...extended].map((c) => [c, 2] as const)])

export type Segments = {
  readonly encoding: 'gsm7' | 'ucs2'
  /** Characters used: septets, or UTF-16 units. */
  readonly used: number
  /** Characters that the segments of this text hold. */
  readonly room: number
  readonly count: number
}

/** Fills segments of one size with characters that are not divided. */
const fill = (sizes: readonly number[], room: number): number => {
  let [count, free] = [1, room]
  for (const size of sizes) {
    if (size > free) [count, free] = [count + 1, room]
    free -= size
  }
  return count
}

/** Counts the segments of a text. The server's preview has the last word and the price. */
export const segmentsOf = (text: string): Segments => {
  const characters = [...text]
  const isGsm = characters.every((character) => widths.has(character))
  const sizes = characters.map((character) => (isGsm ? (widths.get(character) ?? 1) : character.length))
  const used = sizes.reduce((sum, size) => sum + size, 0)
  const [single, joined] = isGsm ? [160, 153] : [70, 67]
  const encoding = isGsm ? 'gsm7' : 'ucs2'
  if (used <= single) return { encoding, used, room: single, count: 1 }
  const count = fill(sizes, joined)
  return { encoding, used, room: count * joined, count }
}
