import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { SessionKind } from '../../../platform/http/session.ts'

export type NewSession = {
  tokenHash: Buffer
  id: string
  kind: SessionKind
  person: string | null
  account: string | null
  key: string | null
  address: string
  userAgent: string
  days: number
}

/** The person, or the key, of a session. */
export type SessionOwner = { readonly person: string | null; readonly key: string | null }

export const add = (tx: Tx, s: NewSession) => tx.run`
  insert into sessions (token_hash, id, kind, person_id, account_id, key_id, address, user_agent, expires_at)
  values (${s.tokenHash}, ${s.id}, ${s.kind}, ${s.person}, ${s.account}, ${s.key}, ${s.address}, ${s.userAgent},
    clock_timestamp() + make_interval(days => ${s.days}))`

export type SessionRow = {
  id: string
  address: string
  user_agent: string
  created_at: Date
  seen_at: Date
}

export const ofOwner = (sql: Sql, { person, key }: SessionOwner, idleSeconds: number, limit: number) =>
  sql.many<SessionRow>`
    select id, address, user_agent, created_at, seen_at from sessions
    where (person_id = ${person}::uuid or key_id = ${key}::uuid) and revoked_at is null
      and expires_at > clock_timestamp() and seen_at > clock_timestamp() - make_interval(secs => ${idleSeconds})
    order by created_at desc, id desc limit ${limit}`

/** Returns the browsers and addresses of the newest sessions of a person, ended ones too. */
export const browsersOf = (sql: Sql, person: string, limit: number) => sql.many<{
  address: string
  user_agent: string
}>`
  select address, user_agent from sessions where person_id = ${person} order by created_at desc limit ${limit}`

export const revoke = async (tx: Tx, { person, key }: SessionOwner, id: string): Promise<boolean> =>
  (await tx.run`
    update sessions set revoked_at = clock_timestamp()
    where id = ${id} and (person_id = ${person}::uuid or key_id = ${key}::uuid) and revoked_at is null`) === 1

/** Revokes all sessions of a person or key. @param except the id of one that stays; null: none stays */
export const revokeAll = (tx: Tx, { person, key }: SessionOwner, except: string | null) => tx.run`
  update sessions set revoked_at = clock_timestamp()
  where (person_id = ${person}::uuid or key_id = ${key}::uuid) and revoked_at is null
    and expires_at > clock_timestamp() and id is distinct from ${except}::uuid`

/** Revokes the sessions of an owner that are older than its newest ones. */
export const revokeBeyond = (tx: Tx, { person, key }: SessionOwner, most: number) => tx.run`
  update sessions set revoked_at = clock_timestamp()
  where (person_id = ${person}::uuid or key_id = ${key}::uuid) and revoked_at is null and expires_at > clock_timestamp()
    and id not in (
      select id from sessions
      where (person_id = ${person}::uuid or key_id = ${key}::uuid) and revoked_at is null
        and expires_at > clock_timestamp()
      order by created_at desc, id desc limit ${most})`

export const prove = (tx: Tx, id: string) => tx.one<{ proved_at: Date }>`
  update sessions set proved_at = clock_timestamp() where id = ${id} returning proved_at`

/** Deletes up to 1,000 sessions that ended these days ago. */
export const deleteEnded = (tx: Tx, days: number) => tx.run`
  delete from sessions where token_hash in (
    select token_hash from sessions where expires_at < clock_timestamp() - make_interval(days => ${days})
    order by expires_at limit 1000)`
