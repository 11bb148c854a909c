import type { InvalidationBus } from '../../../../platform/db/invalidation-bus.ts'
import type { Db, Sql } from '../../../../platform/db/sql.ts'
import { makeGenerationCache } from '../../../../platform/lib/generation-cache.ts'
import { type Channel, channelOfNumber } from '../../channels/ops.ts'
import { maxCachedSenders } from '../../limits.ts'
import { abilitiesOf, type ConnectionAbilities } from '../../runner/drivers.ts'

/** The parts of a channel that stay the same until it is deleted, or change only with its connection. */
export type Sender = Pick<Channel, 'id' | 'connection' | 'number'> & { readonly abilities: ConnectionAbilities }

/** Cache of channels by account and number: every sent message needs one. */
export type SenderCache = {
  /**
   * Returns the channel, synchronously if cached.
   * @param sql the request's own transaction, if any
   * @throws the 404 Problem
   */
  of(account: string, number: string, sql?: Sql): Sender | Promise<Sender>
}

export const makeSenderCache = (db: Db, changes: InvalidationBus): SenderCache => {
  const cache = makeGenerationCache<Sender>(maxCachedSenders)
  changes.on('msgapp', cache.clear)
  changes.on('connections', cache.clear)

  const read = async (sql: Sql, account: string, value: string): Promise<Sender> => {
    const { id, connection, number } = await channelOfNumber(sql, account, value)
    return { id, connection, number, abilities: await abilitiesOf(sql, connection) }
  }

  return {
    of: (account, number, sql = db) =>
      cache.get(account + number) ?? cache.load(account + number, () => read(sql, account, number)),
  }
}
