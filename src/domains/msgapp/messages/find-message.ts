import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Narrowing } from '../../inbox/narrowing/ops.ts'
import { refusals } from '../refusals.ts'
import type { MessageRow } from './message-presenter.ts'
import * as rows from './message-query-store.ts'
import { isHiddenChat } from './narrowing.ts'
import { readSessionKey } from './peer.ts'

/**
 * Finds a message by its ids. A person may be named by the network's id even after their number is known.
 * @param narrowing what the reader may see; null: everything @throws the 404 Problem
 */
export const findMessage = async (
  sql: Sql,
  account: string,
  key: string,
  printed: string,
  narrowing: Narrowing | null,
): Promise<MessageRow> => {
  const id = parse('MSG', printed)
  const place = readSessionKey(key)
  const row = id && place && (await rows.find(sql, account, id))
  if (!row || row.channel_id !== place.channel) throw refusals.unknownMessage(printed)
  if (await isHiddenChat(sql, narrowing, row.channel_id, row.peer)) throw refusals.unknownMessage(printed)
  if (place.peer === row.peer || place.peer === row.remote_id) return row
  const former = await rows.movedTo(sql, { account, id: place.channel }, place.peer)
  return former === row.peer ? row : refuse(refusals.unknownMessage(printed))
}
