import type { Changes } from '../../db/changes.ts'
import type { Db, Sql } from '../../db/sql.ts'
import { type Channel, channelOfNumber } from '../channels/ops.ts'
import { type Able, ableOf } from '../drivers.ts'

/** What of a channel changes with its connection at most, until it is deleted. */
export type SendingLine = Pick<Channel, 'id' | 'connection' | 'number'> & { readonly able: Able }

/** Channels by account and number, in memory: every message that is sent asks for one. */
export type Lines = {
  /** At once when it is known here. @param sql the request's own transaction, where it has one @throws the 404 Problem */
  of(account: string, number: string, sql?: Sql): SendingLine | Promise<SendingLine>
}

const limit = 20_000

export const makeLines = (db: Db, changes: Changes): Lines => {
  const known = new Map<string, SendingLine>()
  let generation = 0
  const forget = () => {
    generation++
    known.clear()
  }
  changes.on('msgapp', forget)
  changes.on('connections', forget)

  const look = async (sql: Sql, account: string, given: string): Promise<SendingLine> => {
    const before = generation
    const { id, connection, number } = await channelOfNumber(sql, account, given)
    const line = { id, connection, number, able: await ableOf(sql, connection) }
    if (before === generation) {
      if (known.size >= limit) known.clear()
      known.set(account + given, line)
    }
    return line
  }

  return { of: (account, number, sql = db) => known.get(account + number) ?? look(sql, account, number) }
}
