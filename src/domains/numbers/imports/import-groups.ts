import { nationalParts } from '@trunkline/phone/phone.ts'
import { maxGroupsPerFile } from '../limits.ts'
import type { LineGroup } from './line-group.ts'

/** A group of a file, with the first line that names it. */
export type ImportGroup = LineGroup & {
  readonly no: number
  readonly line: number
  /** `+` and the calling code. */
  code: string
  /** Common beginning of all its numbers: `code` and the shared digits of the area code. */
  start: string | null
}

/** The groups of a file, each with the common beginning of its numbers. */
export type ImportGroups = {
  readonly all: ReadonlyMap<string, ImportGroup>
  /** Returns the group of a line, or the conflict with an earlier line. */
  find(group: LineGroup, line: number): ImportGroup | string
  /** Updates the group's common beginning with a number. */
  widen(group: ImportGroup, number: string): void
}

const samePrice = (a: LineGroup['price'], b: LineGroup['price']) =>
  a?.setup === b?.setup && a?.monthly === b?.monthly && a?.ppm === b?.ppm

export const makeImportGroups = (): ImportGroups => {
  const all = new Map<string, ImportGroup>()
  return {
    all,
    find: (group, line) => {
      const known = all.get(group.id)
      if (known)
        return samePrice(known.price, group.price)
          ? known
          : `the price differs from line ${known.line}, of the same group: name a group for it`
      if (all.size >= maxGroupsPerFile) return `a file may have at most ${maxGroupsPerFile} groups: split it`
      const added = { ...group, no: all.size + 1, line, code: '', start: null }
      all.set(group.id, added)
      return added
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
