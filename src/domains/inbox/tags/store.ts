import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type TagColor = 'grey' | 'red' | 'orange' | 'yellow' | 'green' | 'teal' | 'blue' | 'purple' | 'pink'

export type TagRow = { id: string; name: string; color: TagColor; created_at: Date }

export const list = (sql: Sql, account: string) => sql.many<TagRow>`
  select id, name, color, created_at from inbox_tags where account_id = ${account} order by name_key, id`

export const find = (sql: Sql, account: string, id: string) => sql.maybe<TagRow>`
  select id, name, color, created_at from inbox_tags where account_id = ${account} and id = ${id}`

/** Locks a tag, so that it is not deleted while a conversation gets it. */
export const lockShared = (tx: Tx, account: string, ids: readonly string[]) => tx.many<{ id: string }>`
  select id from inbox_tags where account_id = ${account} and id = any (${ids}::uuid[]) order by id for share`

/** Serialises the creation of tags of an account. */
export const lockAccount = (tx: Tx, account: string) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('inbox settings ' || ${account}, 0))`

export const count = async (tx: Tx, account: string): Promise<number> =>
  (await tx.one<{ n: number }>`select count(*)::integer as n from inbox_tags where account_id = ${account}`).n

export type NewTag = { id: string; name: string; key: string; color: TagColor }

/** @returns null if another tag has the name */
export const create = (tx: Tx, account: string, { id, name, key, color }: NewTag) => tx.maybe<TagRow>`
  insert into inbox_tags (account_id, id, name, name_key, color, created_at)
  values (${account}, ${id}, ${name}, ${key}, ${color}, (select app_now()))
  on conflict (account_id, name_key) do nothing
  returning id, name, color, created_at`

/** @returns false if another tag has the name */
export const isNameTaken = async (tx: Tx, account: string, key: string, except: string): Promise<boolean> =>
  (await tx.maybe`
    select from inbox_tags where account_id = ${account} and name_key = ${key} and id <> ${except}`) !== null

export const change = (tx: Tx, account: string, { id, name, key, color }: NewTag) => tx.one<TagRow>`
  update inbox_tags set name = ${name}, name_key = ${key}, color = ${color}
  where account_id = ${account} and id = ${id} returning id, name, color, created_at`

export const remove = async (tx: Tx, account: string, id: string): Promise<boolean> =>
  (await tx.run`delete from inbox_tags where account_id = ${account} and id = ${id}`) > 0

/** Conversations with a tag, at most `limit`, in their lock order. */
export const tagged = async (tx: Tx, account: string, tag: string, limit: number): Promise<string[]> =>
  (
    await tx.many<{ id: string }>`
      select id from (
        select id from conversations where account_id = ${account} and tags @> array[${tag}::uuid] limit ${limit}::integer
      ) c order by id`
  ).map(({ id }) => id)
