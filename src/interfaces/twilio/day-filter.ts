import { Type } from 'typebox'
import { refuse } from '../../platform/http/problem.ts'
import { refusals } from './refusals.ts'
import { dayOf, nextDay } from './times.ts'

type DayNames<N extends string> = N | `${N}<` | `${N}>`

const Day = (description: string) => Type.Optional(Type.String({ maxLength: 40, description }))

/** Query parameters of a list: `Name`, `Name<` and `Name>`. */
export const dayFilters = <const N extends string>(name: N) =>
  ({
    [name]: Day('A day, YYYY-MM-DD in UTC'),
    [`${name}<`]: Day('That day and before'),
    [`${name}>`]: Day('That day and after'),
    // The types of computed names are lost.
  }) as { readonly [key in DayNames<N>]: ReturnType<typeof Day> }

/**
 * Reads the three filters by day of a list: `Name`, `Name<` and `Name>`.
 * @returns the first moment, and the one that follows the last
 * @throws Problem 400 for a false day
 */
export const daysOf = <const N extends string>(
  query: { readonly [name in DayNames<N>]?: string },
  name: N,
): { since: Date | null; until: Date | null } => {
  const dayIn = (field: DayNames<N>): Date | undefined => {
    const text: string | undefined = query[field]
    return text === undefined ? undefined : (dayOf(text) ?? refuse(refusals.badDay(field)))
  }
  const [on, before, after] = [dayIn(name), dayIn(`${name}<`), dayIn(`${name}>`)]
  const last = on ?? before
  const since = [on, after].filter((day) => day !== undefined).sort((a, b) => b.getTime() - a.getTime())[0] ?? null
  return { since, until: last === undefined ? null : nextDay(last) }
}
