import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../../platform/db/sql.ts'
import { type Capability, hasOneOf } from '../../../platform/http/capability.ts'

// Some readers may see only their own conversations, and those without an assignee (docs/inbox.md, "Who sees what").
// Every domain that returns messages or calls decides by the functions of this file. The rule follows the counterpart,
// not the items: a message is hidden from its first moment, before the projector has seen it.

/**
 * Stands for the number of a caller who withholds it (RFC 3323) or states none, in records, events and browsers. Matches no
 * contact and no blocked number, and each such call has a conversation of its own.
 */
export const anonymousCaller = 'anonymous'

/**
 * Returns the counterpart of a person whose number a network hides, or of a caller who withholds it: the latter has
 * the call for its id. Ids have no prefix.
 */
export const hiddenCounterpart = (channel: string, remote: string): string => `remote:${channel}:${remote}`

/** A reader who may see only conversations of a user, and those without an assignee. Ids have no prefix. */
export type Narrowing = {
  readonly account: string
  /** Null for a key. */
  readonly user: string | null
}

export type NarrowingCall = {
  readonly account: { readonly id: string }
  readonly key: { readonly scopes: number }
  readonly request: Pick<FastifyRequest, 'sessionAccount'>
}

/**
 * Returns what a request may see; null for everything.
 * @param unless a capability whose readers see everything. Agents of a narrowed account do not, even if they have it
 */
export const narrowingOf = async (
  sql: Sql,
  { account: { id: account }, key, request }: NarrowingCall,
  unless?: Capability,
): Promise<Narrowing | null> => {
  const { role = null, userId: user = null } = request.sessionAccount ?? {}
  if (role !== 'agent')
    return hasOneOf(key, 'inbox.all', ...(unless === undefined ? [] : [unless])) ? null : { account, user }
  const { all } = await sql.one<{ all: boolean }>`select agents_see_all as all from accounts where id = ${account}`
  return all ? null : { account, user }
}

/** Contents of all conversations together that a request may see, as the event log, webhooks and handsets show them. */
export type Contents = {
  /** What people wrote or sent, and names and details of contacts. */
  readonly messages: boolean
  /** Links to recordings of calls. */
  readonly recordings: boolean
}

export const allContents: Contents = { messages: true, recordings: true }

/**
 * Returns which contents a request may see in places that have those of all conversations. Messages need the right to
 * read every conversation. Calls with their recordings belong to the log, too: `read_only`.
 */
export const contentsOf = async (sql: Sql, call: NarrowingCall): Promise<Contents> => {
  const seesAll = (await narrowingOf(sql, call)) === null
  const messages = hasOneOf(call.key, 'inbox') && seesAll
  const isAgent = call.request.sessionAccount?.role === 'agent'
  return { messages, recordings: messages || (hasOneOf(call.key, 'read_only') && (seesAll || !isAgent)) }
}

/**
 * Returns the SQL condition that no conversation with the counterparts belongs to another user. A scalar subquery: the
 * planner probes the index for each row that a page reads, and never joins all conversations of the account.
 * @param counterparts expression of the type text[], numbers in any of their forms @param account @param user expressions, such as placeholders
 */
export const visibleSql = (counterparts: string, account: string, user: string): string =>
  `(select true from conversations v where v.account_id = ${account}
    and v.counterpart = any (array(select canonical_number(one) from unnest(${counterparts}) one))
    and v.assignee_id is not null and v.assignee_id is distinct from ${user}::uuid limit 1) is null`

/** Returns those of the counterparts, numbers in any of their forms, whose conversation belongs to another user. */
export const hiddenCounterparts = async (
  sql: Sql,
  { account, user }: Narrowing,
  counterparts: readonly string[],
): Promise<string[]> => {
  const rows = await sql.many<{ counterpart: string }>`
    select counterpart from conversations
    where account_id = ${account} and counterpart = any (${counterparts.map(canonicalNumber)}::text[])
      and assignee_id is not null and assignee_id is distinct from ${user}::uuid`
  const hidden = new Set(rows.map(({ counterpart }) => counterpart))
  return counterparts.filter((one) => hidden.has(canonicalNumber(one)))
}

/** True if a reader may not see what is with these counterparts. */
export const isHidden = async (
  sql: Sql,
  narrowing: Narrowing | null,
  counterparts: readonly string[],
): Promise<boolean> => narrowing !== null && (await hiddenCounterparts(sql, narrowing, counterparts)).length > 0
