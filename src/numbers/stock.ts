import { chance, fill } from './chance.ts'
import { type GroupRow, groupId } from './rows.ts'

/** Countries that newcomers try first get more of each. */
const large = new Set(['US', 'CA', 'GB', 'DE', 'BR', 'JP'])

/** How many numbers of a group the sandbox sells. */
export const stockSize = ([iso, type]: GroupRow): number =>
  type === 'mobile' && iso === 'GB' ? 60 : large.has(iso) ? 30 : 12

/** The sandbox's numbers of a group in E.164: in plan, drawn by chance, and the same on every machine. None ends in 0000
 *  to 0009: those digits tell a handset how to behave (platform.md part 4). */
export const stockOf = (group: GroupRow, callingCode: string): string[] => {
  const [, , , , , , , length, starts] = group
  const next = chance(groupId(group))
  const numbers = new Set<string>()
  const wanted = stockSize(group)
  for (let i = 0; numbers.size < wanted; i++) {
    const national = fill(next, starts[i % starts.length] ?? '', length)
    if (!/000\d$/.test(national)) numbers.add(`+${callingCode}${national}`)
  }
  return [...numbers]
}
