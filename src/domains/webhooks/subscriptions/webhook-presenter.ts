import { hash } from 'node:crypto'
import { mask } from '../../../platform/http/confidential.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { redactAttempt, redactPayload } from '../../events/contents/ops.ts'
import { eventBody, spellingOf } from '../../events/ops.ts'
import type { Contents } from '../../inbox/narrowing/ops.ts'
import { printDelivery } from '../delivery/delivery-id.ts'
import type { DeliveryLogRow } from '../delivery/delivery-log-store.ts'
import { disableAfterSeconds } from '../delivery/retry-schedule.ts'
import type { HealthRow, WebhookRow } from '../store.ts'

/** Returns the id of an address: a digest, so that it needs no row. */
const endpointOf = ({ account_id: account, hook_url: url }: WebhookRow): string =>
  print(
    'WHE',
    hash('sha256', `${account} ${url}`)
      .slice(0, 32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  )

/** Maps a webhook to its API form. */
export const presentWebhook = (row: WebhookRow) => ({
  uuid: print('WHK', row.id),
  endpoint_uuid: endpointOf(row),
  event_name: row.event_name,
  ...(row.channel_kind && row.channel_id ? { channel_uuid: print(row.channel_kind, row.channel_id) } : {}),
  hook_url: row.hook_url,
  ...(row.header_names.length > 0 ? { headers: Object.fromEntries(row.header_names.map((name) => [name, mask])) } : {}),
  hook_params: {
    ...(row.channel_kind === 'WPN' && row.channel_id ? { waweb_uuid: print('WPN', row.channel_id) } : {}),
  },
  ...(row.to_group === null ? {} : { to_group_uuid: row.to_group }),
  ...(row.time_period === null ? {} : { time_period: row.time_period }),
  enabled: row.enabled,
  ...(row.disabled_reason === null ? {} : { disabled_reason: row.disabled_reason }),
  ...(row.enabled || row.disabled_at === null ? {} : { disabled_at: iso(row.disabled_at) }),
  created_at: iso(row.created_at),
})

export type WebhookState = 'active' | 'failing' | 'paused' | 'disabled'

const stateOf = ({ enabled, disabled_reason: reason, failures }: WebhookRow & HealthRow): WebhookState => {
  if (!enabled) return reason === 'paused' ? 'paused' : 'disabled'
  return failures > 0 ? 'failing' : 'active'
}

/** Maps a receiver's health to its API form. */
export const presentHealth = (row: WebhookRow & HealthRow) => {
  const { failures, failing_since, succeeded_at } = row
  const state = stateOf(row)
  return {
    state,
    failures,
    ...(failing_since === null ? {} : { failing_since: iso(failing_since) }),
    ...(failing_since === null || state !== 'failing'
      ? {}
      : { disables_at: iso(failing_since.getTime() + disableAfterSeconds * 1000) }),
    ...(succeeded_at === null ? {} : { last_success_at: iso(succeeded_at) }),
  }
}

/** Maps a webhook and the health of its receiver to their API form. */
export const presentListed = (row: WebhookRow & HealthRow) => ({ ...presentWebhook(row), ...presentHealth(row) })

/** What the reader of a delivery may see, and the second spelling of msgapp. */
type DeliveryView = { readonly contents: Contents; readonly msgappName: string | null }

/** Returns the body that the calls of a delivery send, without the contents that the reader may not see. */
export const presentBody = (
  { event, event_name: name, msgapp_name: requested }: WebhookRow,
  { body }: Pick<DeliveryLogRow, 'body'>,
  { contents, msgappName }: DeliveryView,
): string => eventBody(redactPayload(event, body, contents), spellingOf(name, requested, msgappName))

/** Maps a delivery and its attempts to their API form. */
export const presentDelivery = (webhook: WebhookRow, row: DeliveryLogRow, view: DeliveryView) => ({
  id: printDelivery({ webhook: row.webhook_id, event: row.event_id }),
  webhook_uuid: print('WHK', row.webhook_id),
  event_uuid: print('EVT', row.event_id),
  event_name: webhook.event_name,
  created_at: iso(row.created_at),
  state: row.state,
  ...(row.next_at === null ? {} : { next_attempt_at: iso(row.next_at) }),
  payload: JSON.parse(presentBody(webhook, row, view)),
  attempts: row.attempts.map(({ timestamp: _, ...attempt }) => ({
    ...redactAttempt(webhook.event, attempt, view.contents),
    at: iso(Date.parse(attempt.at)),
  })),
})
