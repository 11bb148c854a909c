import { refuse } from '../../platform/http/problem.ts'
import { refusals } from './refusals.ts'
import { dayOf, nextDay } from './times.ts'

/**
 * Reads the three filters by day of a list: `Name`, `Name<` and `Name>`.
 * @returns the first moment, and the one that follows the last
 * @throws Problem 400 for a false day
 */
export const daysOf = <const N extends string>(
  query: { readonly [name in N | `${N}<` | `${N}>`]?: string },
  name: N,
): { since: Date | null; until: Date | null } => {
  const dayIn = (field: N | `${N}<` | `${N}>`): Date | undefined => {
    const text: string | undefined = query[field]
    return text === undefined ? undefined : (dayOf(text) ?? refuse(refusals.badDay(field)))
  }
  const [on, before, after] = [dayIn(name), dayIn(`${name}<`), dayIn(`${name}>`)]
  const last = on ?? before
  const since = [on, after].filter((day) => day !== undefined).sort((a, b) => b.getTime() - a.getTime())[0] ?? null
  return { since, until: last === undefined ? null : nextDay(last) }
}
