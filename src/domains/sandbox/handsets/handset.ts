import { invalid } from '../../../platform/http/problem.ts'
import { timeOf } from '../../../platform/lib/id.ts'
import type { OwnershipPeriod } from '../store.ts'

/** @throws the 400 Problem for a number that is a channel of the messaging app */
export const rejectNonHandset = (number: string): never =>
  invalid(`${number} is a number of the platform on the messaging app, not a handset`, 'not_a_handset')

/** True when the account held one of these numbers at that time. */
export const ownedAt = (tenures: readonly OwnershipPeriod[], numbers: readonly string[], at: string): boolean => {
  const time = Date.parse(at)
  return tenures.some(
    ({ number, id, next }) => numbers.includes(number) && time >= timeOf(id) && (next === null || time < timeOf(next)),
  )
}
