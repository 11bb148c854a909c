import { hash } from 'node:crypto'
import type { Db, Sql, Tx } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { refusals } from './refusals.ts'

/** Identity of a request. */
export type RequestKey = {
  account: string
  key: string
  method: string
  /** Canonical path: see `canonicalPath`. */
  path: string
  query: unknown
  body: unknown
  /** The only caller who gets the stored response; absent: every caller of the account. */
  by?: string | undefined
}

type StoredResponse = { request_hash: Buffer; status: number; sealed_body: Buffer }

/** Returns the canonical path of a request, independent of its escapes (RFC 3986, 6.2.2). */
export const canonicalPath = (url: string, params: unknown): string => {
  const values = new Map(Object.entries(params ?? {}))
  return url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name) ?? '')))
}

/** Returns the query parameters sorted by name; empty for none. */
const canonicalQuery = (query: unknown): string => {
  const entries = Object.entries(query ?? {})
  return entries.length === 0 ? '' : JSON.stringify(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Returns the digest of a request's body (raw bytes or parsed value), its query, and the owner of its response. */
export const requestDigest = (body: unknown, query?: unknown, by?: string): Buffer => {
  const owned = by === undefined ? (body ?? null) : { body, by }
  const digest = hash('sha256', Buffer.isBuffer(body) ? body : JSON.stringify(owned), 'buffer')
  const canonical = canonicalQuery(query)
  return canonical === '' ? digest : hash('sha256', Buffer.concat([digest, Buffer.from(canonical)]), 'buffer')
}

/**
 * Runs the work of a request at most once per Idempotency-Key: one transaction covers the key, the effect and the
 * response. A concurrent duplicate waits on the row lock until the first request commits or rolls back. Refusals roll
 * back and are not stored. Keys expire after 24 hours. Responses are stored encrypted, as some show a secret once.
 */
export const runIdempotently = async (
  db: Db,
  seal: Seal,
  request: RequestKey,
  work: (tx: Tx) => Promise<{ status: number; body: string }>,
): Promise<{ status: number; body: string; replayed: boolean }> => {
  const { account, key, method, path } = request
  if (key.length > 255) throw refusals.idempotencyKeyTooLong()
  const digest = requestDigest(request.body, request.query, request.by)
  return await db.begin(async (tx) => {
    const fresh = await tx.run`
      insert into idempotency (account_id, key, method, path, request_hash)
      values (${account}, ${key}, ${method}, ${path}, ${digest})
      on conflict (account_id, key, method, path) do update
        set request_hash = excluded.request_hash, status = null, sealed_body = null, created_at = app_now()
        where idempotency.created_at < app_now() - interval '24 hours'`
    if (fresh === 0) {
      const stored = await tx.one<StoredResponse>`
        select request_hash, status, sealed_body from idempotency
        where account_id = ${account} and key = ${key} and method = ${method} and path = ${path}`
      if (!stored.request_hash.equals(digest)) throw refusals.idempotencyKeyReused()
      return { status: stored.status, body: seal.open(stored.sealed_body), replayed: true }
    }
    const answer = await work(tx)
    await tx.run`
      update idempotency set status = ${answer.status}, sealed_body = ${seal.close(answer.body)}
      where account_id = ${account} and key = ${key} and method = ${method} and path = ${path}`
    return { ...answer, replayed: false }
  })
}

/** Whether a request with this key was answered: its repetition needs no work. A key that expires soon does not count. */
export const isAnswered = async (sql: Sql, { account, key, method, path }: RequestKey): Promise<boolean> =>
  (await sql.maybe`
    select 1 from idempotency
    where account_id = ${account} and key = ${key} and method = ${method} and path = ${path}
      and created_at > app_now() - interval '23 hours'`) !== null

/** Deletes up to 5,000 keys older than a day. */
export const deleteExpiredKeys = (db: Sql): Promise<number> => db.run`
  delete from idempotency where (account_id, key, method, path) in (
    select account_id, key, method, path from idempotency
    where created_at < app_now() - interval '24 hours' order by created_at limit 5000)`
