import type { GroupType } from '../../src/domains/numbers/catalogue/catalogue-rows.ts'
import type { GroupDraft } from './local-groups.ts'
import { findRanges, type NumberingPlan } from './numbering-plan.ts'

/** Number of prefixes by country and type, where it differs from `defaultPrefixCounts`. */
const prefixCounts: Record<string, Partial<Record<GroupType, number>>> = {
  GB: { mobile: 5, tollfree: 2, national: 3, sharedcost: 2 },
  US: { tollfree: 8 },
  BR: { mobile: 12 },
  DE: { mobile: 3 },
}
const defaultPrefixCounts: Record<GroupType, number> = {
  global: 0,
  local: 0,
  mobile: 3,
  tollfree: 1,
  national: 1,
  sharedcost: 1,
}

/** Digits of a group's prefix by type: two identify a mobile network, three a service. */
const prefixDigits: Record<GroupType, number> = {
  global: 0,
  local: 0,
  mobile: 2,
  tollfree: 3,
  national: 2,
  sharedcost: 3,
}

/** Returns up to `count` items of the list, evenly spread. */
const spread = <T>(list: T[], count: number): T[] =>
  list.length <= count
    ? list
    : list.filter((_, i) => Math.floor((i * count) / list.length) !== Math.floor(((i - 1) * count) / list.length))

/** Prefers prefixes of which every number is valid, and among them 800. */
const preferWhole = (found: GroupDraft[], count: number): GroupDraft[] => {
  for (const plain of [
    found.filter(({ prefix, starts }) => prefix.startsWith('800') && starts[0]),
    found.filter(({ prefix, starts }) => starts[0] === prefix),
    found.filter(({ prefix, starts }) => starts.every((start) => start.length <= prefix.length + 1)),
  ])
    if (plain.length >= count) return plain
  return found
}

/**
 * Returns the groups of a non-geographic type. Brazilian mobile numbers begin with an area code, so `local` gives their
 * city.
 */
export const otherGroups = (plan: NumberingPlan, type: GroupType, name: string, local: GroupDraft[]): GroupDraft[] => {
  const found: GroupDraft[] = []
  // The 310 numbers of Canada cannot be called from abroad.
  if (plan.callingCode === '1' && type === 'national') return []
  const digits = prefixDigits[type]
  for (let value = 0; value < 10 ** digits; value++) {
    const prefix = String(value).padStart(digits, '0')
    const list = findRanges(plan, type, prefix, 3)
    const [first] = list
    if (!first) continue
    const area = plan.iso === 'BR' && type === 'mobile' ? local.find((one) => one.prefix === prefix) : undefined
    found.push({
      prefix,
      location: area?.location ?? name,
      region: null,
      city: area?.city ?? null,
      length: first.length,
      starts: list.map(({ start }) => start),
    })
  }
  const count = prefixCounts[plan.iso]?.[type] ?? defaultPrefixCounts[type]
  return spread(preferWhole(found, count), count)
}
