import { hash } from 'node:crypto'
import type { Db, Sql, Tx } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { conflict, Problem } from './problem.ts'

/** What makes two requests the same one. */
export type RequestKey = {
  account: string
  key: string
  method: string
  /** Canonical: as `pathOf` writes it. */
  path: string
  query: unknown
  body: unknown
}

type Kept = { request_hash: Buffer; status: number; sealed_body: Buffer }

/** The path of a request in one spelling, however its escapes were written (RFC 3986, 6.2.2). */
export const pathOf = (url: string, params: unknown): string => {
  const given = new Map(Object.entries(params ?? {}))
  return url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(given.get(name) ?? '')))
}

/** The parameters of a query in their order by name; empty for none. */
const queryOf = (query: unknown): string => {
  const entries = Object.entries(query ?? {})
  return entries.length === 0 ? '' : JSON.stringify(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Tells requests to one path apart: the bytes of the body, or what was read from it, and the query. */
export const digestOf = (body: unknown, query?: unknown): Buffer => {
  const digest = hash('sha256', Buffer.isBuffer(body) ? body : JSON.stringify(body ?? null), 'buffer')
  const asked = queryOf(query)
  return asked === '' ? digest : hash('sha256', Buffer.concat([digest, Buffer.from(asked)]), 'buffer')
}

export const keyReused = (): never =>
  conflict(
    'This Idempotency-Key was used with another body or query: use a new key for a new request',
    'idempotency_key_reused',
  )

/**
 * Runs the work of a request at most once for its Idempotency-Key: the key, the effect and the answer are one
 * transaction. A twin still in hand is waited for, because its row is locked until it commits or rolls back. Refusals
 * roll back and are not kept. Keys live for 24 hours. Answers are kept sealed: some of them show a secret once.
 */
export const once = async (
  db: Db,
  seal: Seal,
  request: RequestKey,
  work: (tx: Tx) => Promise<{ status: number; body: string }>,
): Promise<{ status: number; body: string; replayed: boolean }> => {
  const { account, key, method, path } = request
  if (key.length > 255) throw new Problem('invalid', 'Idempotency-Key must be at most 255 characters long')
  const digest = digestOf(request.body, request.query)
  return await db.begin(async (tx) => {
    const fresh = await tx.run`
      insert into idempotency (account_id, key, method, path, request_hash)
      values (${account}, ${key}, ${method}, ${path}, ${digest})
      on conflict (account_id, key, method, path) do update
        set request_hash = excluded.request_hash, status = null, sealed_body = null, created_at = app_now()
        where idempotency.created_at < app_now() - interval '24 hours'`
    if (fresh === 0) {
      const kept = await tx.one<Kept>`
        select request_hash, status, sealed_body from idempotency
        where account_id = ${account} and key = ${key} and method = ${method} and path = ${path}`
      if (!kept.request_hash.equals(digest)) keyReused()
      return { status: kept.status, body: seal.open(kept.sealed_body), replayed: true }
    }
    const answer = await work(tx)
    await tx.run`
      update idempotency set status = ${answer.status}, sealed_body = ${seal.close(answer.body)}
      where account_id = ${account} and key = ${key} and method = ${method} and path = ${path}`
    return { ...answer, replayed: false }
  })
}

/** Forgets keys older than a day, a few at a time. */
export const forgetKeys = (db: Sql): Promise<number> => db.run`
  delete from idempotency where (account_id, key, method, path) in (
    select account_id, key, method, path from idempotency
    where created_at < app_now() - interval '24 hours' order by created_at limit 5000)`
