import type { Sql } from '../../../platform/db/sql.ts'
import type { Attempt } from '../delivery/delivery-log-store.ts'
import { maxDeliveriesShown, maxWebhooksOfEvent } from '../limits.ts'

type EventDeliveryRow = {
  webhook_id: string
  event_id: string
  state: 'pending' | 'delivered' | 'failed'
  next_at: Date | null
  attempts: Attempt[]
  hook_url: string
}

/** Deliveries of events: one step along the primary key for each webhook of the account and each event. */
export const deliveries = (sql: Sql, account: string, events: readonly string[]) =>
  sql.many<EventDeliveryRow>`
    select d.webhook_id, d.event_id, d.state, d.next_at, d.attempts, w.hook_url
    from (
      select id, hook_url from webhooks where account_id = ${account} order by id limit ${maxWebhooksOfEvent}::integer) w
    cross join unnest(${events}::uuid[]) e (id)
    cross join lateral (
      select webhook_id, event_id, state, next_at, attempts from webhook_deliveries
      where account_id = ${account} and webhook_id = w.id and event_id = e.id limit 1) d
    order by d.event_id, d.webhook_id limit ${maxDeliveriesShown}::integer`
