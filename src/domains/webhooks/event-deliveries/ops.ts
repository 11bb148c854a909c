import type { Sql } from '../../../platform/db/sql.ts'
import { printDelivery } from '../delivery/delivery-id.ts'
import type { Attempt } from '../delivery/delivery-log-store.ts'
import * as store from './store.ts'

/** A delivery of one event to one webhook. */
export type EventDelivery = {
  /** `WHD…` */
  readonly id: string
  readonly webhook: string
  readonly event: string
  readonly eventName: string
  readonly host: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly nextAt: Date | null
  /** The last 20, oldest first. */
  readonly attempts: readonly Attempt[]
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'the receiver')

/** Returns the deliveries of events, by event and webhook. At most 200. */
export const deliveriesOf = async (
  sql: Sql,
  account: string,
  events: readonly { readonly id: string; readonly name: string }[],
): Promise<EventDelivery[]> => {
  if (events.length === 0) return []
  const names = new Map(events.map(({ id, name }) => [id, name]))
  const rows = await store.deliveries(sql, account, [...names.keys()])
  return rows.map((row) => ({
    id: printDelivery({ webhook: row.webhook_id, event: row.event_id }),
    webhook: row.webhook_id,
    event: row.event_id,
    eventName: names.get(row.event_id) ?? '',
    host: hostOf(row.hook_url),
    state: row.state,
    nextAt: row.next_at,
    attempts: row.attempts,
  }))
}
