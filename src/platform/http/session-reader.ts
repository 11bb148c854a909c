import type { Db } from '../db/sql.ts'
import { type Account, type AccountKey, type AuthRow, accountKeyOfRow, accountOfRow, type KeyAuthRow } from './auth.ts'
import { type Capability, maskOf } from './capability.ts'
import { maxSessionAccounts } from './limits.ts'
import { type Role, roleCapabilities } from './role.ts'
import type { Session, SessionAccount, SessionKind } from './session.ts'

type SessionRow = {
  id: string
  kind: SessionKind
  key_id: string | null
  seen_at: Date
  proved_at: Date
  expires_at: Date
  person_id: string | null
  email: string
  name: string
  operator: 'operator' | 'observer' | null
  operator_label: string | null
  operator_last_four: string
  operator_role: 'operator' | 'observer'
}

const unlimited = { expires_at: null, allowed_addresses: null, spend_per_day: null }

const noKeyLimits = { expiresAt: Number.POSITIVE_INFINITY, addresses: null }

type MemberRow = AuthRow & {
  user_id: string
  user_name: string
  role: Role
  agents_see_log: boolean
  agents_see_all: boolean
  lacks_factor: boolean
}

/** Returns the capabilities of a member: those of the role, and what the account gives its agents. */
const capabilitiesOf = ({ role, agents_see_log, agents_see_all }: MemberRow): readonly Capability[] | null => {
  const own = roleCapabilities[role]
  // The log shows all conversations.
  return role === 'agent' && agents_see_log && agents_see_all && own ? [...own, 'read_only'] : own
}

const memberAccount = (row: MemberRow, person: string): SessionAccount => {
  const account = accountOfRow(row)
  const scopes = capabilitiesOf(row)
  const key: AccountKey = {
    id: person,
    account,
    limits: { scopes, ...unlimited },
    scopes: maskOf(scopes),
    ...noKeyLimits,
  }
  const { role, user_id: userId, user_name: userName, lacks_factor: lacksFactor } = row
  return { account, key, role, userId, userName, isOperator: false, lacksFactor }
}

/** Returns the rights of an operator who enters an account: all. */
export const enteredAccount = (account: Account, id: string): SessionAccount => ({
  account,
  key: { id, account, limits: { scopes: null, ...unlimited }, scopes: -1, ...noKeyLimits },
  role: null,
  userId: null,
  userName: null,
  isOperator: true,
  lacksFactor: false,
})

export const readAccount = async (db: Db, id: string): Promise<Account | null> => {
  const row = await db.maybe<AuthRow>`
    select id, name, on_trial, blocked, block_reason, closed_at, requests_per_minute, max_api_requests, a2p_us, quotas
    from accounts where id = ${id}`
  return row && accountOfRow(row)
}

/** Returns the accounts that a session may act for; null if its key was revoked. */
const accountsOf = async (db: Db, row: SessionRow): Promise<SessionAccount[] | null> => {
  if (row.kind === 'person') {
    const rows = await db.many<MemberRow>`
      select u.id as user_id, full_name(u.first_name, u.last_name) as user_name, u.role, a.agents_see_log, a.agents_see_all, a.id, a.name, a.on_trial, a.blocked, a.block_reason, a.closed_at,
        a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas,
        a.second_factor_required and not has_second_factor(u.person_id) as lacks_factor
      from users u join accounts a on a.id = u.account_id
      where u.person_id = ${row.person_id} and u.status = 'ACTIVE'
      order by u.created_at, u.id limit ${maxSessionAccounts}`
    return rows.map((member) => memberAccount(member, row.person_id ?? ''))
  }
  if (row.kind === 'operator-key') return row.operator_label === null ? null : []
  const key = await db.maybe<KeyAuthRow>`
    select k.id as key_id, k.scopes, k.expires_at, k.allowed_addresses, k.spend_per_day, k.limited_keys,
      a.id, a.name, a.on_trial, a.blocked, a.block_reason, a.closed_at, a.requests_per_minute, a.max_api_requests, a.a2p_us, a.quotas
    from api_keys k join accounts a on a.id = k.account_id
    where k.id = ${row.key_id} and (k.revoked_at is null or k.revoked_at >= a.closed_at)`
  if (!key) return null
  const accountKey = accountKeyOfRow(key)
  const none = { role: null, userId: null, userName: null, isOperator: false, lacksFactor: false }
  return [{ account: accountKey.account, key: accountKey, ...none }]
}

const operatorOf = (row: SessionRow): Session['operator'] => {
  if (row.kind === 'operator-key')
    return {
      id: row.key_id ?? '',
      label: row.operator_label ?? '',
      lastFour: row.operator_last_four,
      role: row.operator_role,
    }
  return row.operator && { id: row.person_id ?? '', label: row.name, lastFour: '', role: row.operator }
}

/**
 * Reads a session by the hash of its token, or by its id; null if it ended.
 * @param idleSeconds without a request after which a session ends
 */
export const readSession = async (
  db: Db,
  idleSeconds: number,
  { hash, id }: { readonly hash?: Buffer; readonly id?: string },
): Promise<Session | null> => {
  const row = await db.maybe<SessionRow>`
    select s.id, s.kind, s.key_id, s.seen_at, s.proved_at, s.expires_at, s.person_id, p.email, p.name, p.operator,
      o.label as operator_label, o.last_four as operator_last_four, o.role as operator_role
    from sessions s
    left join persons p on p.id = s.person_id
    left join operator_keys o on s.kind = 'operator-key' and o.id = s.key_id and o.revoked_at is null
    where (s.token_hash = ${hash ?? null}::bytea or s.id = ${id ?? null}::uuid) and s.revoked_at is null
      and s.expires_at > clock_timestamp()
      and s.seen_at > clock_timestamp() - make_interval(secs => ${idleSeconds})
      and p.suspended_at is null`
  const accounts = row && (await accountsOf(db, row))
  if (!row || !accounts) return null
  return {
    id: row.id,
    kind: row.kind,
    person: row.person_id === null ? null : { id: row.person_id, email: row.email, name: row.name },
    operator: operatorOf(row),
    accounts,
    provedAt: row.proved_at.getTime(),
    expiresAt: row.expires_at.getTime(),
  }
}
