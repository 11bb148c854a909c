import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ConversationRow } from '../conversation-row.ts'

export type NoteRow = {
  id: string
  conversation_id: string
  user_id: string | null
  text: string
  mentions: string[]
  created_at: Date
}

export type NewNote = {
  id: string
  conversation: string
  user: string | null
  text: string
  mentions: readonly string[]
}

/** Inserts a note and its item. */
export const create = (tx: Tx, account: string, n: NewNote) => tx.run`
  with note as (
    insert into conversation_notes (account_id, id, conversation_id, user_id, text, mentions, created_at)
    values (${account}, ${n.id}, ${n.conversation}, ${n.user}, ${n.text}, ${n.mentions}::uuid[], (select app_now()))
  )
  insert into conversation_items (account_id, conversation_id, id, kind, user_id, at)
  values (${account}, ${n.conversation}, ${n.id}, 'note', ${n.user}, (select app_now()))`

/** The conversation of a note that is not deleted. */
export const conversationOf = async (sql: Sql, account: string, id: string): Promise<string | null> =>
  (
    await sql.maybe<{ conversation_id: string }>`
      select conversation_id from conversation_notes
      where account_id = ${account} and id = ${id} and removed_at is null`
  )?.conversation_id ?? null

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<NoteRow>`
  select id, conversation_id, user_id, text, mentions, created_at from conversation_notes
  where account_id = ${account} and id = ${id} and removed_at is null for update`

export const change = (
  tx: Tx,
  account: string,
  { id, text, mentions }: Pick<NoteRow, 'id' | 'text' | 'mentions'>,
) => tx.run`
  update conversation_notes set text = ${text}, mentions = ${mentions}::uuid[], edited_at = (select app_now())
  where account_id = ${account} and id = ${id}`

/** Deletes the text of a note, and the words by which it is found. Its row stays for the thread. */
export const remove = (tx: Tx, account: string, id: string) => tx.run`
  with words as (delete from conversation_words where account_id = ${account} and id = ${id})
  update conversation_notes set text = '', mentions = '{}', removed_at = (select app_now())
  where account_id = ${account} and id = ${id}`

/** Users among these who are active. */
export const activeUsers = async (sql: Sql, account: string, ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await sql.many<{ id: string }>`
        select id from users where account_id = ${account} and id = any (${ids}::uuid[]) and status = 'ACTIVE'`
    ).map(({ id }) => id),
  )

/** Counts a change of a conversation that no column shows. */
export const touch = (tx: Tx, account: string, conversation: string) => tx.one<ConversationRow>`
  update conversations set version = version + 1 where account_id = ${account} and id = ${conversation} returning *`
