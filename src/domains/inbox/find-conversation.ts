import type { Sql, Tx } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import { type Access, maySee } from './access.ts'
import type { ConversationRow } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { parseItem } from './ids.ts'
import { refusals } from './refusals.ts'

const visible = (access: Access, row: ConversationRow | null, printed: string): ConversationRow =>
  row && maySee(access, row) ? row : refuse(refusals.unknownConversation(printed))

/** Finds a conversation that a reader may see. @throws Problem 404 */
export const requireConversation = async (sql: Sql, access: Access, printed: string): Promise<ConversationRow> => {
  const id = parse('CNV', printed)
  return visible(access, id === null ? null : await store.find(sql, access.account, id), printed)
}

/** Locks a conversation that a reader may see, until the transaction ends. @throws Problem 404 */
export const lockConversation = async (tx: Tx, access: Access, printed: string): Promise<ConversationRow> => {
  const id = parse('CNV', printed)
  return visible(access, id === null ? null : await store.lock(tx, access.account, id), printed)
}

/** Returns the bare id of an item of a conversation. @throws Problem 404 */
export const requireItem = async (
  sql: Sql,
  account: string,
  conversation: string,
  printed: string,
): Promise<string> => {
  const id = parseItem(printed)
  const found = id && (await store.findItem(sql, account, conversation, id))
  return found ? found.id : refuse(refusals.unknownItem(printed).at('reply_to'))
}
