import type { Sql } from '../../platform/db/sql.ts'
import { idAt, timeOf } from '../../platform/lib/id.ts'
import { eventPageSize, lookback } from './limits.ts'
import * as store from './store.ts'
import type { FeedEvent } from './topics.ts'

/** A receiver of the events of an account. */
export type FeedSink = { receive(event: FeedEvent): void }

type AccountWatch = {
  readonly sinks: Set<FeedSink>
  /** Ids of the lookback time that were read, or are older than the watch. */
  readonly known: Set<string>
  /** Resolves once the events before the watch are known. */
  readonly started: Promise<void>
  isStarted: boolean
  /** Unix milliseconds of the next read of the whole lookback time. */
  wholeAt: number
}

/**
 * Reads the events of watched accounts, and hands each once to all sinks of its account. All accounts share one
 * statement; without a sink there is none.
 * @param clock Unix milliseconds, as ids of events have them
 */
export const makeEventFeed = (sql: Sql, onError: (error: unknown) => void, clock: () => number = Date.now) => {
  const accounts = new Map<string, AccountWatch>()
  const pending = new Set<string>()
  let reading: Promise<void> | null = null

  const floorOf = (watched: AccountWatch, now: number): string => {
    const isWhole = now >= watched.wholeAt
    if (isWhole) watched.wholeAt = now + lookback.wholeEveryMs
    return idAt(now - (isWhole ? lookback.wholeMs : lookback.eachLookMs))
  }

  const forget = (watched: AccountWatch, now: number) => {
    for (const id of watched.known) if (timeOf(id) < now - 2 * lookback.wholeMs) watched.known.delete(id)
  }

  /** Reads once. @returns the accounts with more events than one statement reads */
  const read = async (names: readonly string[]): Promise<string[]> => {
    const now = clock()
    const watches = names.flatMap((account) => {
      const watched = accounts.get(account)
      return watched?.isStarted ? [{ account, watched, floor: floorOf(watched, now) }] : []
    })
    if (watches.length === 0) return []
    const known = watches.flatMap(({ watched, floor }) => [...watched.known].filter((id) => id > floor))
    const rows = await store.eventsOf(
      sql,
      watches.map(({ account }) => account),
      watches.map(({ floor }) => floor),
      known,
    )
    const counts = new Map<string, number>()
    for (const { account_id: account, id, name, payload } of rows) {
      counts.set(account, (counts.get(account) ?? 0) + 1)
      const watched = accounts.get(account)
      if (!watched || watched.known.has(id)) continue
      watched.known.add(id)
      for (const sink of watched.sinks) sink.receive({ id, name, payload })
    }
    for (const { watched } of watches) forget(watched, now)
    return [...counts].flatMap(([account, count]) => (count >= eventPageSize ? [account] : []))
  }

  const readPending = async () => {
    while (pending.size > 0) {
      const names = [...pending]
      pending.clear()
      for (const account of await read(names)) pending.add(account)
    }
  }

  /** Reads the events of accounts now; a read in progress reads them next. */
  const wake = (names: Iterable<string>): Promise<void> => {
    for (const account of names) if (accounts.has(account)) pending.add(account)
    if (pending.size === 0) return reading ?? Promise.resolve()
    reading ??= readPending()
      .catch(onError)
      .finally(() => {
        reading = null
        if (pending.size > 0) void wake([])
      })
    return reading
  }

  const start = (account: string): AccountWatch => {
    const known = new Set<string>()
    const load = async () => {
      for (const id of await store.idsAfter(sql, account, idAt(clock() - lookback.wholeMs))) known.add(id)
      watched.isStarted = true
    }
    const watched: AccountWatch = { sinks: new Set(), known, started: load(), isStarted: false, wholeAt: 0 }
    accounts.set(account, watched)
    return watched
  }

  return {
    wake,
    /** Reads the events that other processes recorded. */
    poll: () => wake(accounts.keys()),
    /** Watches an account. Resolves once each later event is handed over. @returns the function that ends the watch */
    watch: async (account: string, sink: FeedSink): Promise<() => void> => {
      const watched = accounts.get(account) ?? start(account)
      watched.sinks.add(sink)
      const end = () => {
        watched.sinks.delete(sink)
        if (watched.sinks.size === 0 && accounts.get(account) === watched) accounts.delete(account)
      }
      try {
        await watched.started
      } catch (error) {
        end()
        throw error
      }
      return end
    },
    /** Number of watched accounts. */
    size: () => accounts.size,
  }
}
