import type { GroupType } from '../../src/numbers/rows.ts'
import type { Draft } from './local.ts'
import { beginnings, type Plan } from './plan.ts'

/** How many prefixes of a type a country gets. */
const most: Record<string, Partial<Record<GroupType, number>>> = {
  GB: { mobile: 5, tollfree: 2, national: 3, sharedcost: 2 },
  US: { tollfree: 8 },
  BR: { mobile: 12 },
  DE: { mobile: 3 },
}
const usual: Record<GroupType, number> = { global: 0, local: 0, mobile: 3, tollfree: 1, national: 1, sharedcost: 1 }

/** Digits of a group's prefix by type: mobile networks are told by two, services by three. */
const width: Record<GroupType, number> = { global: 0, local: 0, mobile: 2, tollfree: 3, national: 2, sharedcost: 3 }

/** Up to `count` of the list, evenly spread. */
const spread = <T>(list: T[], count: number): T[] =>
  list.length <= count
    ? list
    : list.filter((_, i) => Math.floor((i * count) / list.length) !== Math.floor(((i - 1) * count) / list.length))

/** Prefixes that are whole by themselves rather than in a part of their numbers; the familiar 800 before others. */
const plainest = (found: Draft[], count: number): Draft[] => {
  for (const plain of [
    found.filter(({ prefix, starts }) => prefix.startsWith('800') && starts[0]),
    found.filter(({ prefix, starts }) => starts[0] === prefix),
    found.filter(({ prefix, starts }) => starts.every((start) => start.length <= prefix.length + 1)),
  ])
    if (plain.length >= count) return plain
  return found
}

/** The groups of a type that is not tied to a place. In Brazil mobile numbers begin with the area code: `cities` has those. */
export const otherGroups = (plan: Plan, type: GroupType, name: string, local: Draft[]): Draft[] => {
  const found: Draft[] = []
  // The 310 numbers of Canada cannot be called from abroad.
  if (plan.callingCode === '1' && type === 'national') return []
  const digits = width[type]
  for (let value = 0; value < 10 ** digits; value++) {
    const prefix = String(value).padStart(digits, '0')
    const list = beginnings(plan, type, prefix, 3)
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
  const count = most[plan.iso]?.[type] ?? usual[type]
  return spread(plainest(found, count), count)
}
