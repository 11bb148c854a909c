import type { Db, Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import { type NarrowingCall, narrowingOf } from '../inbox/narrowing/ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** Finds a call of an account. @param printed its id, as the request gave it @throws the 404 Problem */
export const callOf = async (db: Sql, account: string | null, printed: string) => {
  const id = parse('CDR', printed)
  return (account && id && (await store.find(db, account, id))) || refuse(refusals.unknownCall(printed))
}

/** Finds a call that a reader may see. @param unless as in `narrowingOf` @throws the 404 Problem */
export const visibleCallOf = async (
  db: Db,
  call: NarrowingCall,
  printed: string,
  unless?: Parameters<typeof narrowingOf>[2],
) => {
  const row = await callOf(db, call.account.id, printed)
  const narrowing = await narrowingOf(db, call, unless)
  const isSeen = narrowing === null || (await store.visible(db, narrowing, [row.id])).has(row.id)
  return isSeen ? row : refuse(refusals.unknownCall(printed))
}
