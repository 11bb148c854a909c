import type { Sql } from '../../platform/db/sql.ts'
import type { ConversationRow } from './conversation-row.ts'
import { type NarrowingCall, narrowingOf } from './narrowing/ops.ts'
import { keyReader, type Reader } from './presenter.ts'

/** The reader of a request, and which conversations the reader may see. */
export type Access = Reader & {
  /** Bare uuid of the user; null for a key, or an operator who entered the account. */
  readonly userId: string | null
  /** Only conversations of the user, or of nobody. */
  readonly isNarrowed: boolean
}

/** Returns the access of a request. */
export const accessOf = async (sql: Sql, call: NarrowingCall): Promise<Access> => {
  const userId = call.request.sessionAccount?.userId ?? null
  const isNarrowed = (await narrowingOf(sql, call)) !== null
  return { account: call.account.id, user: userId ?? keyReader, userId, isNarrowed }
}

/** True if a conversation is visible to a reader. */
export const maySee = (
  { isNarrowed, userId }: Access,
  { assignee_id }: Pick<ConversationRow, 'assignee_id'>,
): boolean => !isNarrowed || assignee_id === null || assignee_id === userId
