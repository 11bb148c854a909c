import { api } from '../api/client.ts'
import { asApiError, isPassing } from '../api/errors.ts'
import type { LiveEvent } from './log-position.ts'

/** Milliseconds between questions: after an answer, and without one. */
const pause = 2_000
const pauseUnanswered = 1_000
/** Milliseconds between readings of everything that is shown: some changes have no event. */
const refreshEvery = 10_000

/**
 * Asks for events every 2 s, for networks that refuse WebSockets. Ends with the signal.
 * @param position the last event that the page has; null without any
 */
export const pollEvents = async (
  position: () => string | null,
  signal: AbortSignal,
  onEvent: (event: LiveEvent) => void,
  refresh: () => void,
): Promise<void> => {
  let after = position()
  let refreshedAt = after === null ? 0 : Date.now()
  let isAllowed = true
  while (!signal.aborted) {
    let isAnswered = true
    try {
      // Without a place in the log, the newest event is the place to begin.
      const query = after ? { after, results_per_page: 200 } : { results_per_page: 1 }
      const { events } = isAllowed ? await api('GET /open/events', { query }, { signal }) : { events: [] }
      for (const { uuid, name, at, payload } of after ? events : [])
        onEvent({ type: 'event', id: uuid, name, at, topics: [], data: { ...payload }, logged: true })
      after = (after ? events.at(-1) : events[0])?.uuid ?? after
    } catch (error) {
      if (signal.aborted) return
      const fault = asApiError(error)
      isAllowed = isPassing(fault)
      isAnswered = fault.status !== 0
    }
    if (isAnswered && Date.now() - refreshedAt >= refreshEvery) {
      refreshedAt = Date.now()
      refresh()
    }
    await new Promise((resolve) => setTimeout(resolve, isAnswered ? pause : pauseUnanswered))
  }
}
