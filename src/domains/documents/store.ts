import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

export type DocumentKind = 'identity' | 'address' | 'proof'
export type MediaType = 'application/pdf' | 'image/jpeg' | 'image/png'

export type DocumentRow = {
  account_id: string
  id: string
  name: string
  kind: DocumentKind
  media_type: MediaType
  size: number
  created_at: Date
}

/** Returns the usage of an account. Locks the account, so that concurrent uploads cannot exceed the limit. */
export const usage = async (tx: Tx, account: string) => {
  await tx.run`select from accounts where id = ${account} for no key update`
  return tx.one<{ count: number; bytes: number }>`
    select count(*) as count, coalesce(sum(size), 0)::bigint as bytes from documents where account_id = ${account}`
}

export const add = (tx: Tx, d: Omit<DocumentRow, 'created_at'>) => tx.one<DocumentRow>`
  insert into documents (account_id, id, name, kind, media_type, size)
  values (${d.account_id}, ${d.id}, ${d.name}, ${d.kind}, ${d.media_type}, ${d.size}) returning *`

export const addPart = (tx: Tx, account: string, id: string, part: number, sealed: Buffer) => tx.run`
  insert into document_parts (account_id, document_id, part, sealed) values (${account}, ${id}, ${part}, ${sealed})`

export const part = (db: Sql, account: string, id: string, part: number) => db.maybe<{ sealed: Buffer }>`
  select sealed from document_parts where account_id = ${account} and document_id = ${id} and part = ${part}`

const documentsOf = (account: string) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  return makeListQuery({ table: 'documents', key: byTimeAndId(), isNewestFirst: true }, conditions)
}

/** Returns a page of documents, newest first. */
export const page = (db: Sql, account: string, at: ListPage) => {
  const { text, values } = documentsOf(account).page(`*, ${exactTime('created_at')} as at`, at)
  return db.raw<DocumentRow & { at: string }>(text, values)
}

export const total = (db: Sql, account: string) => countRows(db, documentsOf(account).total())

export const find = (db: Sql, account: string, id: string) => db.maybe<DocumentRow>`
  select * from documents where account_id = ${account} and id = ${id}`

/** Returns the listed documents that belong to the account, locked against deletion. */
export const lockForShare = (tx: Sql, account: string, ids: readonly string[]) => tx.many<DocumentRow>`
  select * from documents where account_id = ${account} and id = any(${ids}::uuid[]) order by id for share`

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<DocumentRow>`
  select * from documents where account_id = ${account} and id = ${id} for update`

/** Returns a number of the account that is registered with the document. */
export const registeredNumber = (tx: Tx, account: string, id: string) => tx.maybe<{ number: string }>`
  select v.number from registration_answers a
  join virtual_numbers v on v.account_id = a.account_id and v.id = a.virtual_number_id
  where a.account_id = ${account} and a.document_id = ${id} and v.released_at is null limit 1`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  delete from documents where account_id = ${account} and id = ${id}`
