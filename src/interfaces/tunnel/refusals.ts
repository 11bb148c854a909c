import { invalid, retryAfter, tooMany } from '../../platform/http/problem.ts'

export const refusals = {
  badAfter: () => invalid('after must be the id of an event: it starts with EVT').at('/query/after'),
  tooManyListeners: (count: number) =>
    tooMany(`This account already has ${count} listeners. Close one of them.`, 'too_many_listeners', retryAfter(10)),
}
