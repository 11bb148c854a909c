import type { Sql, Tx } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import { type Access, maySee } from './access.ts'
import type { ConversationRow } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { parseItem, parseItemRef } from './ids.ts'
import { loadItems } from './item-sources.ts'
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

/**
 * Returns the bare id of an item that a page may have shown in a conversation; null if there is none. A page shows a
 * message by its event, which can precede the projector.
 */
export const findShownItem = async (
  sql: Sql,
  account: string,
  { id: conversation, counterpart }: Pick<ConversationRow, 'id' | 'counterpart'>,
  printed: string,
): Promise<string | null> => {
  const id = parseItem(printed)
  if (id === null || (await store.findItem(sql, account, conversation, id))) return id
  const ref = parseItemRef(printed)
  const items = ref ? await loadItems(sql, account, [ref]) : []
  return items.some((item) => item.counterpart === counterpart || item.former === counterpart) ? id : null
}

/** Returns the bare id of an item that a message quotes. @throws Problem 404 */
export const requireQuoted = async (
  sql: Sql,
  account: string,
  conversation: Pick<ConversationRow, 'id' | 'counterpart'>,
  printed: string,
): Promise<string> =>
  (await findShownItem(sql, account, conversation, printed)) ?? refuse(refusals.unknownItem(printed).at('reply_to'))
