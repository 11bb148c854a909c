import type { Sql } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'
import type { LiveSession } from './live-session.ts'
import * as store from './store.ts'

const present = (row: store.DeliveryRow) => ({
  webhook_uuid: print('WHK', row.webhook_id),
  event_uuid: print('EVT', row.event_id),
  event_name: row.event_name,
  state: row.state,
  ...(row.next_at ? { next_attempt_at: iso(row.next_at) } : {}),
  ...(row.attempt ? { attempt: row.attempt } : {}),
})

/** Sessions that follow a topic, by account. */
const byAccount = (
  sessions: readonly LiveSession[],
  follows: (topics: ReadonlySet<LiveTopic>) => boolean,
): Map<string, LiveSession[]> => {
  const found = new Map<string, LiveSession[]>()
  for (const session of sessions) {
    const subscription = session.subscription()
    if (!subscription || !follows(subscription.topics)) continue
    found.set(subscription.account, [...(found.get(subscription.account) ?? []), session])
  }
  return found
}

/**
 * Remembers what was seen of each key, while it is watched.
 * @returns a function that reports whether a value differs from the one before; the first one does not
 */
const makeMemory = () => {
  let seen = new Map<string, string>()
  return {
    differs: (key: string, value: string): boolean => {
      const before = seen.get(key)
      seen.set(key, value)
      return before !== undefined && before !== value
    },
    has: (key: string): boolean => seen.has(key),
    keep: (isWatched: (key: string) => boolean) => {
      seen = new Map([...seen].filter(([key]) => isWatched(key)))
    },
  }
}

const webhookTopic = /^webhook(?:s$|:)/

/**
 * Compares what has no event of its own: balances, delivery attempts and members. Each kind takes one statement, only
 * while a page follows it.
 */
export const makeStateFeed = (sql: Sql, sessions: () => readonly LiveSession[]) => {
  const balances = makeMemory()
  const teams = makeMemory()
  let deliveries = new Map<string, Map<string, string>>()

  const compareBalances = async () => {
    const watching = byAccount(sessions(), (topics) => topics.has('money'))
    balances.keep((account) => watching.has(account))
    if (watching.size === 0) return
    for (const { account_id: account, balance } of await store.balances(sql, [...watching.keys()]))
      if (balances.differs(account, balance))
        for (const session of watching.get(account) ?? [])
          session.notify('balance.changed', ['money'], print('EVT', uuid()), { balance, currency: 'USD' })
  }

  const compareTeams = async () => {
    const watching = byAccount(sessions(), (topics) => topics.has('team'))
    teams.keep((account) => watching.has(account))
    if (watching.size === 0) return
    for (const { account_id: account, digest } of await store.teams(sql, [...watching.keys()]))
      if (teams.differs(account, digest))
        for (const session of watching.get(account) ?? [])
          session.notify('member.changed', ['team'], print('EVT', uuid()), {})
  }

  /** Returns the webhooks that pages of an account follow. */
  const followedWebhooks = async (account: string, watching: readonly LiveSession[]): Promise<string[]> => {
    const topics = new Set(watching.flatMap((session) => [...(session.subscription()?.topics ?? [])]))
    const named = [...topics].flatMap((topic) => (topic.startsWith('webhook:WHK') ? [topic.slice(11)] : []))
    return [...new Set([...named, ...(topics.has('webhooks') ? await store.webhooksOf(sql, account) : [])])]
  }

  const compareDeliveries = async () => {
    const watching = byAccount(sessions(), (topics) => [...topics].some((topic) => webhookTopic.test(topic)))
    const followed = (
      await Promise.all(
        [...watching].map(async ([account, of]) =>
          (await followedWebhooks(account, of)).map((webhook) => ({ account, webhook })),
        ),
      )
    ).flat()
    const before = deliveries
    deliveries = new Map(followed.map(({ webhook }) => [webhook, new Map()]))
    if (followed.length === 0) return
    const rows = await store.deliveriesOf(
      sql,
      followed.map(({ account }) => account),
      followed.map(({ webhook }) => webhook),
    )
    for (const row of rows) {
      deliveries.get(row.webhook_id)?.set(row.event_id, row.version)
      const known = before.get(row.webhook_id)
      // The first look shows what was there before.
      if (!known || known.get(row.event_id) === row.version) continue
      const topics: LiveTopic[] = ['webhooks', `webhook:WHK${row.webhook_id}`]
      for (const session of watching.get(row.account_id) ?? [])
        session.notify('webhook.delivery', topics, print('EVT', row.event_id), present(row))
    }
  }

  return {
    /** Compares balances and deliveries, and the members of accounts that are new here. */
    poll: async () => {
      const watching = byAccount(sessions(), (topics) => topics.has('team'))
      if ([...watching.keys()].some((account) => !teams.has(account))) await compareTeams()
      await compareBalances()
      await compareDeliveries()
    },
    /** Compares members. */
    compareTeams,
  }
}
