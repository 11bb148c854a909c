import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { eventBody } from '../../events/ops.ts'
import { printDelivery } from '../delivery/delivery-id.ts'
import type { DeliveryLogRow } from '../delivery/delivery-log-store.ts'
import type { HealthRow, WebhookRow } from '../store.ts'

/** Maps a webhook to its API form. */
export const presentWebhook = (row: WebhookRow) => ({
  uuid: print('WHK', row.id),
  event_name: row.event_name,
  ...(row.channel_kind && row.channel_id ? { channel_uuid: print(row.channel_kind, row.channel_id) } : {}),
  hook_url: row.hook_url,
  hook_params: {
    ...(row.channel_kind === 'WPN' && row.channel_id ? { waweb_uuid: print('WPN', row.channel_id) } : {}),
  },
  ...(row.to_group === null ? {} : { to_group_uuid: row.to_group }),
  ...(row.time_period === null ? {} : { time_period: row.time_period }),
  enabled: row.enabled,
  ...(row.disabled_reason === null ? {} : { disabled_reason: row.disabled_reason }),
  created_at: iso(row.created_at),
})

/** Maps a receiver's health to its API form. */
export const presentHealth = ({ failures, failing_since, succeeded_at }: HealthRow) => ({
  failures,
  ...(failing_since === null ? {} : { failing_since: iso(failing_since) }),
  ...(succeeded_at === null ? {} : { last_success_at: iso(succeeded_at) }),
})

/** Maps a delivery and its attempts to their API form. */
export const presentDelivery = (
  { event_name: eventName, msgapp_name: msgappName }: WebhookRow,
  row: DeliveryLogRow,
) => ({
  id: printDelivery({ webhook: row.webhook_id, event: row.event_id }),
  event_name: eventName,
  created_at: iso(row.created_at),
  state: row.state,
  ...(row.next_at === null ? {} : { next_attempt_at: iso(row.next_at) }),
  payload: JSON.parse(eventBody(row.body, { eventName, msgappName })),
  attempts: row.attempts.map((attempt) => ({ ...attempt, at: iso(Date.parse(attempt.at)) })),
})
