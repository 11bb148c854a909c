import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import { newestContact } from '../contacts/ops.ts'
import { isPublished, newestPayload, requireSubscribable } from '../events/ops.ts'
import { balanceWithLimit } from '../ledger/ops.ts'
import { statusOf } from '../msgapp/channels/ops.ts'
import { newestNumber } from '../numbers/ops.ts'
import { newestMember } from '../users/ops.ts'
import * as lanes from './delivery/endpoint-lease-store.ts'
import { totalsCacheMs } from './limits.ts'
import * as store from './store.ts'
import { channelBy, checkEventChannel } from './subscriptions/subscribe.ts'

/**
 * Releases all leases, for a start that knows that no other process lives (embedded database). Deliveries then need
 * not wait for old leases to expire.
 * @returns the number of webhooks
 */
export const releaseEndpointLeases = (sql: Sql): Promise<number> => lanes.releaseAll(sql)

/** An example request: an event on a channel of an account. Ids have no prefix, except the group's. */
export type ExampleRequest = { readonly name: string; readonly channel: string | null; readonly group: string | null }

/** Present state, for events that report one. */
const stateOf = (sql: Sql, account: string, { name, channel }: ExampleRequest): Promise<object | null> | null => {
  if (name.startsWith('contact.')) return newestContact(sql, account)
  if (name.startsWith('number.')) return newestNumber(sql, account)
  if (name.startsWith('member.')) return newestMember(sql, account)
  if (name === 'balance.low') return balanceWithLimit(sql, account)
  return name === 'msgapp.number.status' && channel !== null ? statusOf(sql, account, channel) : null
}

/** Reason why an account has no example, by the beginning of the event's name. */
const missing: readonly (readonly [string, string])[] = [
  ['contact.', 'has no contact: create one with POST /open/contacts'],
  ['number.', 'has no virtual number: buy one with POST /open/numbers/purchase'],
  ['member.', 'has no member: invite one with POST /open/members'],
  ['conversation.', 'has had no such conversation'],
  ['balance.', 'has no low_balance limit: the operator sets it'],
  ['msgapp.check.', 'has checked no batch of numbers: POST /open/msgapp/check-numbers'],
  ['msgapp.group.message.reaction', 'has had no reaction in a group'],
  ['msgapp.group.message', 'has received no message in a group'],
  ['msgapp.group.', 'has no group whose members changed like that'],
  ['msgapp.call.', 'has had no such call on the messaging app'],
  ['msgapp.', 'has had no such message on the messaging app'],
  ['sms.message.received', 'has received no SMS'],
  ['sms.', 'has sent no such SMS'],
  ['', 'has had no such call'],
]

type Example = { readonly payload: { readonly [key: string]: unknown }; readonly missing: string | null }

/**
 * Returns a payload to test a receiver with: the account's newest such event, or the present state that the event
 * reports. All ids belong to the account. The payload is marked `test: true`. If the account has neither, the payload
 * is only the mark, and `missing` says what the account lacks.
 */
export const exampleFor = async (sql: Sql, account: string, request: ExampleRequest): Promise<Example> => {
  const { name, channel, group } = request
  if (!isPublished(name)) return { payload: { test: true }, missing: null }
  const found = (await newestPayload(sql, account, request)) ?? (await stateOf(sql, account, request))
  if (found) return { payload: { ...found, test: true }, missing: null }
  const place = group !== null ? ' in that group' : channel !== null ? ' on that channel' : ''
  const [, why = ''] = missing.find(([start]) => name.startsWith(start)) ?? []
  const note = `No example of ${name}${place} is available: the account ${why}. Ids are never made up`
  return { payload: { test: true, note }, missing: note }
}

/** Returns channels (ids without prefix) and groups (as printed) of an event's enabled webhooks, newest first. */
export const listeningFor = store.listening

/**
 * Resolves the channel that a request names to the one that the event carries.
 * @throws the 400 or 404 Problem
 */
export const channelForEvent = async (sql: Sql, account: string, name: string, printed: string): Promise<string> => {
  const { kind } = requireSubscribable(name)
  checkEventChannel(name, kind, printed)
  return (await channelBy(sql, account, printed, kind)).match
}

const counter = (sql: Sql): (() => Promise<store.Totals>) => {
  let counted: Promise<store.Totals> | null = null
  let until = 0
  return () => {
    if (counted && performance.now() < until) return counted
    until = performance.now() + totalsCacheMs
    counted = store.totals(sql).catch((error: unknown) => {
      counted = null
      throw error
    })
    return counted
  }
}

/** Installs the webhook metrics of the whole installation. */
export const installWebhookMetrics = (metrics: Metrics, sql: Sql): void => {
  const totals = counter(sql)
  metrics.gauge(
    'trunkline_webhooks',
    'Webhooks by state: enabled, failing among them, disabled',
    ['state'],
    async () => {
      const { enabled, failing, disabled } = await totals()
      return Object.entries({ enabled, failing, disabled }).map(([state, value]) => ({ labels: { state }, value }))
    },
  )
  metrics.gauge('trunkline_webhook_deliveries_pending', 'Deliveries neither made nor abandoned', [], async () => [
    { labels: {}, value: (await totals()).pending },
  ])
  metrics.gauge(
    'trunkline_event_backlog',
    'Events whose deliveries are created later, at their account’s rate; counted up to 100,000',
    [],
    async () => [{ labels: {}, value: (await totals()).backlog }],
  )
  metrics.gauge('trunkline_webhook_oldest_pending_seconds', 'Age of the oldest pending delivery', [], async () => [
    { labels: {}, value: (await totals()).oldest_seconds },
  ])
}

/**
 * Disables all webhooks of an account.
 * @returns how many were enabled
 */
export const disableAll = async (tx: Tx, changes: InvalidationBus, account: string): Promise<number> => {
  const count = await store.disableAll(tx, account)
  await changes.invalidate(tx, 'webhooks')
  return count
}
