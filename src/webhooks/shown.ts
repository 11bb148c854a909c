import { told } from '../events/ops.ts'
import { iso } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import { printDelivery } from './ids.ts'
import type { LogRow } from './log.ts'
import type { Condition, WebhookRow } from './store.ts'

/** A webhook as the interface shows it. */
export const shownWebhook = (row: WebhookRow) => ({
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

/** How its receiver is doing. */
export const shownCondition = ({ failures, failing_since, succeeded_at }: Condition) => ({
  failures,
  ...(failing_since === null ? {} : { failing_since: iso(failing_since) }),
  ...(succeeded_at === null ? {} : { last_success_at: iso(succeeded_at) }),
})

/** What a webhook was told, and how that went. */
export const shownDelivery = ({ event_name: eventName, msgapp_name: msgappName }: WebhookRow, row: LogRow) => ({
  id: printDelivery({ webhook: row.webhook_id, event: row.event_id }),
  event_name: eventName,
  created_at: iso(row.created_at),
  state: row.state,
  ...(row.next_at === null ? {} : { next_attempt_at: iso(row.next_at) }),
  payload: JSON.parse(told(row.body, { eventName, msgappName })),
  attempts: row.attempts.map((attempt) => ({ ...attempt, at: iso(Date.parse(attempt.at)) })),
})
