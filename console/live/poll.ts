import { ApiError, isPassing } from '../api/errors.ts'
import { send } from '../api/send.ts'
import type { LiveEvent } from './apply.ts'

const pause = 2_000

type EventRow = { readonly uuid: string; readonly name: string; readonly at: string; readonly payload?: unknown }

/** Asks for events every 2 s, for networks that refuse WebSockets. Ends when the signal or the server says so. */
export const pollEvents = async (
  after: () => string | null,
  signal: AbortSignal,
  onEvent: (event: LiveEvent) => void,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      const reply = await send('GET /open/events', { query: { after: after() ?? undefined } }, { signal })
      const { events } = reply as { events: readonly EventRow[] }
      for (const { uuid, name, at, payload } of events) onEvent({ id: uuid, name, at, data: payload })
    } catch (error) {
      if (!(error instanceof ApiError) || !isPassing(error)) return
    }
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
