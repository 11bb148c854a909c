import { timeOf } from '../../../platform/lib/id.ts'
import type { OwnershipPeriod } from '../store.ts'

/** True when the account held one of these numbers at that time. */
export const ownedAt = (tenures: readonly OwnershipPeriod[], numbers: readonly string[], at: string): boolean => {
  const time = Date.parse(at)
  return tenures.some(
    ({ number, id, next }) => numbers.includes(number) && time >= timeOf(id) && (next === null || time < timeOf(next)),
  )
}
