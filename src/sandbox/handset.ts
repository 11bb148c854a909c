import { invalid } from '../http/problem.ts'
import { timeOf } from '../lib/id.ts'
import type { Tenure } from './store.ts'

/** @throws the 400 Problem for a number that is a channel of the messaging app */
export const notHandset = (number: string): never =>
  invalid(`${number} is a number of the platform on the messaging app, and no handset`, 'not_a_handset')

/** True when one of these numbers was the account's at that time. */
export const isOwn = (tenures: readonly Tenure[], numbers: readonly string[], at: string): boolean => {
  const time = Date.parse(at)
  return tenures.some(
    ({ number, id, next }) => numbers.includes(number) && time >= timeOf(id) && (next === null || time < timeOf(next)),
  )
}
