import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../platform/db/sql.ts'
import { bitOf } from '../../platform/http/capability.ts'
import type { ConversationRow } from './conversation-row.ts'
import { keyReader, type Reader } from './presenter.ts'

/** The reader of a request, and which conversations the reader may see. */
export type Access = Reader & {
  /** Bare uuid of the user; null for a key, or an operator who entered the account. */
  readonly userId: string | null
  /** Only conversations of the user, or of nobody. */
  readonly isNarrowed: boolean
}

type Caller = { readonly account: { readonly id: string }; readonly key: { readonly scopes: number } }

/** Returns the access of a request: see `agents_see_all` in docs/inbox.md. */
export const accessOf = async (
  sql: Sql,
  { account, key, request }: Caller & { readonly request: Pick<FastifyRequest, 'sessionAccount'> },
): Promise<Access> => {
  const { role = null, userId = null } = request.sessionAccount ?? {}
  const lacksAll = (key.scopes & bitOf('inbox.all')) === 0
  const isNarrowed =
    lacksAll ||
    (role === 'agent' &&
      !(await sql.one<{ all: boolean }>`select agents_see_all as all from accounts where id = ${account.id}`).all)
  return { account: account.id, user: userId ?? keyReader, userId, isNarrowed }
}

/** True if a conversation is visible to a reader. */
export const maySee = (
  { isNarrowed, userId }: Access,
  { assignee_id }: Pick<ConversationRow, 'assignee_id'>,
): boolean => !isNarrowed || assignee_id === null || assignee_id === userId
