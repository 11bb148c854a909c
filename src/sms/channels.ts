import type { Changes } from '../db/changes.ts'
import type { Db, Sql } from '../db/sql.ts'
import * as store from './store.ts'

/** Sending channels by account and number, in memory: every send asks for one. */
export type Channels = {
  /** The enabled channel of the account's number: at once when it is known here. Null when there is none.
   *  @param sql the request's own transaction, where it has one: it must not wait for a second connection */
  of(account: string, number: string, sql?: Sql): store.ChannelRow | null | Promise<store.ChannelRow | null>
}

const limit = 20_000

export const makeChannels = (db: Db, changes: Changes): Channels => {
  const known = new Map<string, store.ChannelRow>()
  let generation = 0
  changes.on('numbers', () => {
    generation++
    known.clear()
  })

  const look = async (sql: Sql, account: string, number: string) => {
    const before = generation
    const row = await store.channelOf(sql, account, number)
    if (row && before === generation) {
      if (known.size >= limit) known.clear()
      known.set(account + number, row)
    }
    return row
  }

  return { of: (account, number, sql = db) => known.get(account + number) ?? look(sql, account, number) }
}
