import { type GroupRow, groupId } from './catalogue-rows.ts'
import { padWithDigits, seededRandom } from './seeded-random.ts'

/** Countries that newcomers try first have more numbers per group. */
const largeCountries = new Set(['US', 'CA', 'GB', 'DE', 'BR', 'JP'])

/** Returns how many numbers of a group the sandbox sells. */
export const stockSize = ([iso, type]: GroupRow): number =>
  type === 'mobile' && iso === 'GB' ? 60 : largeCountries.has(iso) ? 30 : 12

/**
 * Returns the sandbox's numbers of a group in E.164: in plan, pseudo-random, and the same on every machine. None ends
 * in 0000 to 0009: these endings select a simulated handset's behaviour.
 */
export const stockOf = (group: GroupRow, callingCode: string): string[] => {
  const [, , , , , , , length, starts] = group
  const next = seededRandom(groupId(group))
  const numbers = new Set<string>()
  const size = stockSize(group)
  for (let i = 0; numbers.size < size; i++) {
    const national = padWithDigits(next, starts[i % starts.length] ?? '', length)
    if (!/000\d$/.test(national)) numbers.add(`+${callingCode}${national}`)
  }
  return [...numbers]
}
