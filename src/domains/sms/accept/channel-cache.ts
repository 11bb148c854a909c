import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db, Sql } from '../../../platform/db/sql.ts'
import { makeGenerationCache } from '../../../platform/lib/generation-cache.ts'
import { maxCachedChannels } from '../limits.ts'
import * as store from '../store.ts'

/** In-memory cache of sending channels by account and number: every send needs one. */
export type ChannelCache = {
  /** Returns the enabled channel of the account's number, synchronously if cached; null if there is none.
   *  @param sql the transaction of the request, if it has one: it must not wait for a second connection */
  find(account: string, number: string, sql?: Sql): store.ChannelRow | null | Promise<store.ChannelRow | null>
}

export const makeChannelCache = (db: Db, changes: InvalidationBus): ChannelCache => {
  const cache = makeGenerationCache<store.ChannelRow>(maxCachedChannels)
  changes.on('numbers', cache.clear)
  return {
    find: (account, number, sql = db) =>
      cache.get(account + number) ?? cache.load(account + number, () => store.channelOf(sql, account, number)),
  }
}
