import type { Sql } from '../../platform/db/sql.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'
import { makeDeliveryFeed } from './delivery-feed.ts'
import type { LiveSession } from './live-session.ts'
import * as store from './store.ts'

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

/**
 * Compares what has no event of its own: balances, delivery attempts and members. Each kind takes one statement, only
 * while a page follows it.
 */
export const makeStateFeed = (sql: Sql, sessions: () => readonly LiveSession[]) => {
  const balances = makeMemory()
  const teams = makeMemory()
  const compareDeliveries = makeDeliveryFeed(sql, sessions)

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
