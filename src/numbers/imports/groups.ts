import { nationalParts } from '../../lib/phone.ts'
import type { Wanted } from './wanted.ts'

/** How many groups one file may make: they are held in memory until its end. */
const most = 10_000

/** A group of a file, with the line that named it first. */
export type Found = Wanted & {
  readonly no: number
  readonly line: number
  /** `+` and the calling code. */
  code: string
  /** What all of its numbers begin with: `code`, and as many digits of the area as they share. */
  start: string | null
}

/** The groups of a file, each with the digits that all of its numbers begin with. */
export type Groups = {
  readonly all: ReadonlyMap<string, Found>
  /** The group by what a line says, or what is wrong with that after what other lines said. */
  find(wanted: Wanted, line: number): Found | string
  /** Takes a number into account. */
  widen(group: Found, number: string): void
}

const samePrice = (a: Wanted['price'], b: Wanted['price']) =>
  a?.setup === b?.setup && a?.monthly === b?.monthly && a?.ppm === b?.ppm

export const makeGroups = (): Groups => {
  const all = new Map<string, Found>()
  return {
    all,
    find: (wanted, line) => {
      const known = all.get(wanted.id)
      if (known)
        return samePrice(known.price, wanted.price)
          ? known
          : `the price is another one than on line ${known.line}, of the same group: name a group for it`
      if (all.size >= most) return `a file may have ${most} groups at most: split it`
      const made = { ...wanted, no: all.size + 1, line, code: '', start: null }
      all.set(wanted.id, made)
      return made
    },
    widen: (group, number) => {
      if (group.start === null) {
        const { national, area } = nationalParts(number)
        group.code = number.slice(0, -national.length)
        group.start = group.code + (area ?? national.slice(0, 2))
      }
      while (!number.startsWith(group.start)) group.start = group.start.slice(0, -1)
    },
  }
}
