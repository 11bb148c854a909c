import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Role } from '../../../platform/http/role.ts'
import type { OperatorRole } from '../store.ts'

/** How a link reaches its reader. `mail`: only the mailbox of the address gets the token. `link`: the caller sees it. */
export type Delivery = 'link' | 'mail'

export type InvitationKind = 'invite' | 'password' | 'claim' | 'proof'

export type InvitationRow = {
  id: string
  kind: InvitationKind
  account_id: string | null
  user_id: string | null
  person_id: string | null
  email: string | null
  operator: OperatorRole | null
  invited_by: string
  delivery: Delivery
  expires_at: Date
  used_at: Date | null
}

export type NewInvitation = Omit<InvitationRow, 'expires_at' | 'used_at'> & { tokenHash: Buffer; minutes: number }

export const add = (tx: Tx, i: NewInvitation) => tx.one<{ expires_at: Date }>`
  insert into invitations
    (token_hash, id, kind, account_id, user_id, person_id, email, operator, invited_by, delivery, expires_at)
  values (${i.tokenHash}, ${i.id}, ${i.kind}, ${i.account_id}, ${i.user_id}, ${i.person_id}, ${i.email}, ${i.operator},
    ${i.invited_by}, ${i.delivery}, clock_timestamp() + make_interval(mins => ${i.minutes}))
  returning expires_at`

/** Returns an invitation that has not expired, used or not. */
export const find = (sql: Sql, tokenHash: Buffer) => sql.maybe<InvitationRow>`
  select id, kind, account_id, user_id, person_id, email, operator, invited_by, delivery, expires_at,
    used_at
  from invitations
  where token_hash = ${tokenHash} and expires_at > clock_timestamp()`

/** Returns which of these hashes are of invitations that have not expired. */
export const existing = (sql: Sql, hashes: readonly Buffer[]) => sql.many<{ hash: Buffer }>`
  select token_hash as hash from invitations
  where token_hash = any(${hashes}::bytea[]) and expires_at > clock_timestamp()`

/** Uses an invitation. One of two concurrent requests succeeds. @returns false if it was used or has expired */
export const use = async (tx: Tx, tokenHash: Buffer): Promise<boolean> =>
  (await tx.run`
    update invitations set used_at = clock_timestamp()
    where token_hash = ${tokenHash} and used_at is null and expires_at > clock_timestamp()`) === 1

/** Deletes the unused links of a user or person. */
export const deleteUnused = (tx: Tx, { user, person }: { user: string | null; person: string | null }) => tx.run`
  delete from invitations
  where used_at is null and (user_id = ${user}::uuid or (kind = 'password' and person_id = ${person}::uuid))`

export const deleteUnusedProofs = (tx: Tx, person: string) => tx.run`
  delete from invitations where used_at is null and kind = 'proof' and person_id = ${person}`

/** Deletes the unused mailed links of other persons with the address of this one, which this one has proved. */
export const deleteMailedOfOthers = (tx: Tx, person: string) => tx.run`
  delete from invitations where used_at is null and delivery = 'mail' and person_id in (
    select other.id from persons p join persons other on other.email_key = p.email_key and other.id <> p.id
    where p.id = ${person})`

/** Counts the mailed links of a person that still work. */
export const countMailed = async (tx: Tx, person: string): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n from invitations
      where person_id = ${person} and delivery = 'mail' and used_at is null and expires_at > clock_timestamp()`
  ).n

/** Counts the links of a person that work, were mailed, and set a new password. */
export const countResets = async (tx: Tx, person: string): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n from invitations
      where person_id = ${person} and kind = 'password' and delivery = 'mail' and used_at is null
        and expires_at > clock_timestamp()`
  ).n

export const deleteLinks = (tx: Tx, ids: readonly string[]) => tx.run`
  delete from invitations where id = any (${[...ids]}::uuid[])`

export const deleteExpired = (tx: Tx, days: number) => tx.run`
  delete from invitations where token_hash in (
    select token_hash from invitations where expires_at < clock_timestamp() - make_interval(days => ${days})
    order by expires_at limit 1000)`

/** Returns the account and user of an invitation. */
export const subject = (sql: Sql, account: string, user: string) => sql.maybe<{
  account_name: string
  email: string
  name: string
  status: string
  /** Null before a person joined. */
  person_id: string | null
}>`
  select a.name as account_name, u.email, full_name(u.first_name, u.last_name) as name, u.status, u.person_id
  from users u join accounts a on a.id = u.account_id where u.account_id = ${account} and u.id = ${user}`

/** Joins a person to an account as the invited user, in the place of `former`. Null if the user has another person now. */
export const joinUser = (tx: Tx, account: string, user: string, person: string, former: string | null) => tx.maybe<{
  id: string
  first_name: string
  last_name: string
  role: Role
  status: 'ACTIVE'
}>`
  update users set person_id = ${person}, status = 'ACTIVE', updated_at = app_now()
  where account_id = ${account} and id = ${user} and person_id is not distinct from ${former}::uuid
  returning id, first_name, last_name, role, status`
