import type { Sql } from '../../../platform/db/sql.ts'
import { timeOf } from '../../../platform/lib/id.ts'
import { around } from '../limits.ts'
import { firstIdAt } from './event-id.ts'
import * as store from './store.ts'

/** A thing whose events are looked up. */
export type EventSubject = {
  /** `uuid` of the payloads, such as `SMO…`. */
  readonly printed: string
  /** As the events were recorded. */
  readonly conversation: string
  /** Bare id of the thing, whose time begins the search. */
  readonly id: string
  /** When the thing changed, by the platform's clock. */
  readonly moments: readonly Date[]
  /** Milliseconds by which the platform's clock is ahead of the machine's. */
  readonly offsetMs: number
}

export type FoundEvent = store.FoundEventRow

/**
 * Finds the events of a thing: among the first 2,000 of the account after its creation, and among those recorded when
 * it changed. The events have no index by their subject, which would burden every message.
 */
export const findEventsOf = (
  sql: Sql,
  account: string,
  { printed, conversation, id, moments, offsetMs }: EventSubject,
): Promise<FoundEvent[]> => {
  const began = timeOf(id) - around.before
  const times = [...new Set(moments.map((at) => at.getTime() - offsetMs))].filter((at) => at > began)
  const windows = {
    from: [firstIdAt(began), ...times.map((at) => firstIdAt(at - around.before))],
    until: [store.greatest, ...times.map((at) => firstIdAt(at + around.after))],
  }
  return store.ofSubject(sql, account, { printed, conversation, windows })
}
