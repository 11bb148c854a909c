import { redactAttempt } from '../../domains/events/contents/ops.ts'
import type { Contents } from '../../domains/inbox/narrowing/ops.ts'
import type { Sql } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'
import { comparedDeliveries, maxFollowedWebhooks, maxReadWebhooks } from './limits.ts'
import type { LiveSession } from './live-session.ts'
import * as store from './store.ts'

const present = (row: store.DeliveryRow, contents: Contents) => ({
  webhook_uuid: print('WHK', row.webhook_id),
  event_uuid: print('EVT', row.event_id),
  event_name: row.event_name,
  state: row.state,
  ...(row.next_at ? { next_attempt_at: iso(row.next_at) } : {}),
  ...(row.attempt ? { attempt: redactAttempt(row.event_name, row.attempt, contents) } : {}),
})

type WebhookTarget = { readonly account: string; readonly webhook: string; readonly isNamed: boolean }

/** The state in which a webhook was last seen. `deliveries`: versions by event; null until `look`, which reads them. */
type WebhookState = {
  readonly version: string
  readonly look: number
  readonly deliveries: ReadonlyMap<string, string> | null
  readonly isNamed: boolean
}

const webhookTopic = /^webhook(?:s$|:)/

/** Returns the sessions that follow delivery attempts, by account. */
const watchersOf = (sessions: readonly LiveSession[]): Map<string, LiveSession[]> => {
  const found = new Map<string, LiveSession[]>()
  for (const session of sessions) {
    const subscription = session.subscription()
    if (!subscription || ![...subscription.topics].some((topic) => webhookTopic.test(topic))) continue
    found.set(subscription.account, [...(found.get(subscription.account) ?? []), session])
  }
  return found
}

/** Chooses the webhooks that one look reads: of each account in turn, those first that waited longest. */
const chooseInTurn = (changed: readonly WebhookTarget[], seen: ReadonlyMap<string, WebhookState>): WebhookTarget[] => {
  const lastLook = ({ webhook }: WebhookTarget) => seen.get(webhook)?.look ?? 0
  const oldestFirst = changed.toSorted((a, b) => lastLook(a) - lastLook(b))
  const turns = Map.groupBy(oldestFirst, ({ account }) => account)
  const rounds = Array.from({ length: maxReadWebhooks }, (_, n) => [...turns.values()].flatMap((of) => of[n] ?? []))
  return rounds.flat().slice(0, maxReadWebhooks)
}

/**
 * Reports delivery attempts, which have no event. Each look reads one short row of each followed webhook. Deliveries are
 * read of the webhooks with another row than before, and of at most ten in one look: the others wait for the next.
 */
export const makeDeliveryFeed = (sql: Sql, sessions: () => readonly LiveSession[]) => {
  let seen = new Map<string, WebhookState>()
  let looks = 0

  /** Returns the webhooks that pages of an account follow, those with a topic of their own first. */
  const followedOf = async (account: string, watching: readonly LiveSession[]): Promise<WebhookTarget[]> => {
    const topics = new Set(watching.flatMap((session) => [...(session.subscription()?.topics ?? [])]))
    const named = [...topics].flatMap((topic) => (topic.startsWith('webhook:WHK') ? [topic.slice(11)] : []))
    const all = topics.has('webhooks') ? await store.webhooksOf(sql, account) : []
    return [...new Set([...named, ...all])]
      .slice(0, maxFollowedWebhooks)
      .map((webhook) => ({ account, webhook, isNamed: named.includes(webhook) }))
  }

  const notify = (watching: readonly LiveSession[], row: store.DeliveryRow) => {
    const topics: LiveTopic[] = ['webhooks', `webhook:WHK${row.webhook_id}`]
    for (const session of watching) {
      const contents = session.subscription()?.contents
      if (contents) session.notify('webhook.delivery', topics, print('EVT', row.event_id), present(row, contents))
    }
  }

  /** Reads the deliveries of changed webhooks. A page of many webhooks needs the newest of each alone. */
  const rowsOf = async (changed: readonly WebhookTarget[]): Promise<Map<string, store.DeliveryRow[]>> => {
    const found = new Map<string, store.DeliveryRow[]>(changed.map(({ webhook }) => [webhook, []]))
    const rows = await store.deliveriesOf(
      sql,
      changed.map(({ account }) => account),
      changed.map(({ webhook }) => webhook),
      changed.map(({ isNamed }) => (isNamed ? comparedDeliveries : 1)),
    )
    for (const row of rows) found.get(row.webhook_id)?.push(row)
    return found
  }

  return async (): Promise<void> => {
    const watching = watchersOf(sessions())
    const followed = (await Promise.all([...watching].map(([account, of]) => followedOf(account, of)))).flat()
    seen = new Map([...seen].filter(([webhook]) => followed.some((one) => one.webhook === webhook)))
    if (followed.length === 0) return
    const versions = new Map(
      (
        await store.webhookVersions(
          sql,
          followed.map(({ account }) => account),
          followed.map(({ webhook }) => webhook),
        )
      ).map(({ webhook_id, version }) => [webhook_id, version]),
    )
    const versionOf = (webhook: string) => versions.get(webhook) ?? ''
    // Deliveries before the first turn of a webhook are reported, too.
    for (const { webhook, isNamed } of followed)
      if (!seen.has(webhook)) seen.set(webhook, { version: versionOf(webhook), look: 0, deliveries: null, isNamed })
    const changed = chooseInTurn(
      followed.filter(({ webhook, isNamed }) => {
        const known = seen.get(webhook)
        return !known?.deliveries || known.version !== versionOf(webhook) || (isNamed && !known.isNamed)
      }),
      seen,
    )
    if (changed.length === 0) return
    looks++
    const rows = await rowsOf(changed)
    for (const { account, webhook, isNamed } of changed) {
      const found = rows.get(webhook) ?? []
      const known = seen.get(webhook)
      seen.set(webhook, {
        version: versionOf(webhook),
        look: looks,
        deliveries: new Map(found.map(({ event_id, version }) => [event_id, version])),
        isNamed,
      })
      // The first look shows what was there before.
      if (!known || known.version === versionOf(webhook)) continue
      const { deliveries } = known
      const fresh = found.filter(({ event_id, version }) => deliveries && deliveries.get(event_id) !== version)
      // The first ones that were read, or an older delivery than those: report the newest one instead.
      for (const row of fresh.length > 0 ? fresh : found.slice(-1)) notify(watching.get(account) ?? [], row)
    }
  }
}
