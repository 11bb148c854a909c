import { invalid, retryAfter, unavailable } from '../../platform/http/problem.ts'

export const refusals = {
  emptyPeriod: () => invalid('since must be before until').at('since'),
  periodTooLong: (days: number) => invalid(`since must be at most ${days} days before until`).at('since'),
  usageBehind: () =>
    unavailable('The usage of the account is being counted: try again in a few seconds', 'usage_behind', retryAfter(5)),
}
