import type { Sql, Tx } from '../../platform/db/sql.ts'
import { maxRecipients, maxSubscriptions, repeatSeconds, visibleSeconds } from './limits.ts'

export const now = async (sql: Sql): Promise<Date> => (await sql.one<{ now: Date }>`select app_now() as now`).now

export type KeyRow = { public_key: Buffer; sealed_private: Buffer }

export const findKey = (sql: Sql) => sql.maybe<KeyRow>`select public_key, sealed_private from push_keys`

/** Stores a key pair unless another process was first. @returns the stored pair */
export const addKey = async (tx: Tx, publicKey: Buffer, sealed: Buffer): Promise<KeyRow> => {
  await tx.run`
    insert into push_keys (public_key, sealed_private) values (${publicKey}, ${sealed}) on conflict (id) do nothing`
  return tx.one<KeyRow>`select public_key, sealed_private from push_keys`
}

export type SubscriptionRow = {
  id: string
  person_id: string
  account_id: string
  sealed_target: Buffer
  user_agent: string
  created_at: Date
  delivered_at: Date | null
  failed_at: Date | null
  failure: string | null
}

export const ofPerson = (sql: Sql, person: string) => sql.many<SubscriptionRow>`
  select id, person_id, account_id, sealed_target, user_agent, created_at, delivered_at, failed_at, failure
  from push_subscriptions where person_id = ${person} order by created_at desc, id desc limit ${maxSubscriptions}`

export const find = (sql: Sql, id: string) => sql.maybe<SubscriptionRow>`
  select s.id, s.person_id, s.account_id, s.sealed_target, s.user_agent, s.created_at, s.delivered_at, s.failed_at,
    s.failure
  from push_subscriptions s
  where s.id = ${id} and exists (
    select from sessions where id = s.session_id and revoked_at is null and expires_at > clock_timestamp())`

type NewSubscription = {
  id: string
  person: string
  account: string
  session: string
  sealed: Buffer
  endpointHash: Buffer
  userAgent: string
}

/** Returns the subscription that a browser of the person has already. */
export const findByEndpoint = (sql: Sql, person: string, endpointHash: Buffer) => sql.maybe<{ id: string }>`
  select id from push_subscriptions where endpoint_hash = ${endpointHash} and person_id = ${person}`

/** Stores a browser, which may have had another person before. Beyond the limit, the oldest ones of the person go. */
export const add = async (tx: Tx, s: NewSubscription): Promise<SubscriptionRow> => {
  await tx.run`
    delete from push_subscriptions where (endpoint_hash = ${s.endpointHash} and person_id <> ${s.person}) or (
      person_id = ${s.person} and endpoint_hash <> ${s.endpointHash} and id not in (
        select id from push_subscriptions where person_id = ${s.person} and endpoint_hash <> ${s.endpointHash}
        order by created_at desc, id desc limit ${maxSubscriptions - 1}::integer))`
  return tx.one<SubscriptionRow>`
    insert into push_subscriptions (id, person_id, account_id, session_id, sealed_target, endpoint_hash, user_agent)
    values (${s.id}, ${s.person}, ${s.account}, ${s.session}, ${s.sealed}, ${s.endpointHash}, ${s.userAgent})
    on conflict (endpoint_hash) do update set account_id = excluded.account_id, session_id = excluded.session_id,
      sealed_target = excluded.sealed_target, user_agent = excluded.user_agent
    returning id, person_id, account_id, sealed_target, user_agent, created_at, delivered_at, failed_at, failure`
}

/** @returns false if the person has no such subscription */
export const remove = async (tx: Tx, person: string, id: string): Promise<boolean> =>
  (await tx.run`delete from push_subscriptions where id = ${id} and person_id = ${person}`) === 1

export const removeAll = (tx: Tx, ids: readonly string[]) => tx.run`
  delete from push_subscriptions where id = any (${ids}::uuid[])`

/** Deletes subscriptions of sessions that were signed out or expired, and what is too old to matter. */
export const purge = async (tx: Tx, days: number): Promise<void> => {
  await tx.run`
    delete from push_subscriptions s where not exists (
      select from sessions where id = s.session_id and revoked_at is null and expires_at > clock_timestamp())`
  await tx.run`delete from push_shown where shown_at < clock_timestamp() - make_interval(days => ${days})`
}

/** Marks conversations and calls whose notification is on its way, in accounts where a member has a browser for it.
 *  @returns those that had no mark */
export const markPending = (
  tx: Tx,
  account: string,
  subjects: readonly { readonly id: string; readonly kind: string }[],
) => tx.many<{ subject_id: string; kind: string }>`
  insert into push_pending (account_id, subject_id, kind)
  select ${account}::uuid, c.id, c.kind
  from unnest(${subjects.map(({ id }) => id)}::uuid[], ${subjects.map(({ kind }) => kind)}::text[]) c (id, kind)
  where exists (
    select from users u join push_subscriptions s on s.person_id = u.person_id where u.account_id = ${account})
  order by c.id, c.kind
  on conflict (account_id, subject_id, kind) do nothing
  returning subject_id, kind`

export const unmarkPending = (sql: Sql, account: string, subject: string, kind: string) => sql.run`
  delete from push_pending where account_id = ${account} and subject_id = ${subject} and kind = ${kind}`

export type ConversationState = {
  name: string
  assignee_id: string | null
  waiting_since: Date | null
  last_inbound: string | null
  push_names: boolean
}

export const conversationState = (sql: Sql, account: string, conversation: string) =>
  sql.maybe<ConversationState>`
    select c.name, c.waiting_since, c.last_inbound, a.push_names,
      (select id from users where account_id = c.account_id and id = c.assignee_id and status = 'ACTIVE') as assignee_id
    from conversations c join accounts a on a.id = c.account_id
    where c.account_id = ${account} and c.id = ${conversation}`

/** A call that rings, with the user whose number is called. */
export type RingingRow = {
  from_number: string | null
  inbound_user_id: string | null
  name: string | null
  push_names: boolean
}

export const ringingCall = (sql: Sql, account: string, call: string) => sql.maybe<RingingRow>`
  select l.caller_id_used as from_number, n.inbound_user_id, c.name, a.push_names
  from calls l
  join accounts a on a.id = l.account_id
  left join virtual_numbers n on n.account_id = l.account_id and n.id = l.virtual_number_id
  left join conversations c on c.account_id = l.account_id and c.counterpart = canonical_number(l.caller_id_used)
  where l.account_id = ${account} and l.id = ${call} and l.answered_at is null and l.ended_at is null`

export type RecipientRow = { id: string; preferences: unknown; timezone: string | null }

/**
 * Returns the browsers of members to notify: not of those with a visible page, of those who read the item or may not
 * see the conversation, or who got a notification of it a moment ago.
 * @param users null: all who answer and are not away
 */
export const recipients = (
  sql: Sql,
  n: { account: string; subject: string; item: string; users: readonly string[] | null },
) => sql.many<RecipientRow>`
  select s.id, p.preferences, p.timezone
  from users u
  join persons p on p.id = u.person_id and p.suspended_at is null
  join push_subscriptions s on s.person_id = p.id
  where u.account_id = ${n.account} and u.status = 'ACTIVE' and u.role in ('owner', 'admin', 'agent')
    and not exists (
      select from accounts a
      where a.id = u.account_id and a.second_factor_required and not has_second_factor(u.person_id))
    and case when ${n.users}::uuid[] is null then u.availability = 'available' else u.id = any (${n.users}::uuid[]) end
    and not exists (
      select from conversation_reads r
      where r.account_id = u.account_id and r.user_id = u.id and r.conversation_id = ${n.subject}
        and r.read_until >= ${n.item}::uuid)
    and not exists (
      select from presences v
      where v.person_id = p.id and v.visible_at > clock_timestamp() - make_interval(secs => ${visibleSeconds}))
    and not exists (
      select from push_shown h
      where h.subscription_id = s.id and h.subject_id = ${n.subject}
        and h.shown_at > clock_timestamp() - make_interval(secs => ${repeatSeconds}))
    and exists (
      select from sessions x
      where x.id = s.session_id and x.revoked_at is null and x.expires_at > clock_timestamp())
    and (u.role <> 'agent' or not exists (
      select from conversations c join accounts a on a.id = c.account_id
      where c.account_id = u.account_id and c.id = ${n.subject}::uuid and not a.agents_see_all
        and c.assignee_id is not null and c.assignee_id <> u.id))
  order by s.id limit ${maxRecipients}::integer`

/** Whether the person of a browser has read an item. */
export const hasRead = async (
  sql: Sql,
  n: { account: string; conversation: string; item: string; person: string },
): Promise<boolean> =>
  (await sql.maybe`
    select 1 from conversation_reads r join users u on u.account_id = r.account_id and u.id = r.user_id
    where r.account_id = ${n.account} and r.conversation_id = ${n.conversation} and u.person_id = ${n.person}
      and r.read_until >= ${n.item}::uuid`) !== null

/** Number of other conversations with a notification in a browser. */
export const countShown = async (sql: Sql, subscription: string, subject: string): Promise<number> =>
  (
    await sql.one<{ n: number }>`
      select count(*)::integer as n from push_shown
      where subscription_id = ${subscription} and subject_id <> ${subject}`
  ).n

export type ShownNotice = { subscription: string; account: string; subject: string; item: string }

export const addShown = (tx: Tx, shown: readonly ShownNotice[]) => tx.run`
  insert into push_shown (subscription_id, account_id, subject_id, item_id)
  select s.id, n.account_id, n.subject_id, max(n.item_id::text)::uuid
  from unnest(${shown.map((one) => one.subscription)}::uuid[], ${shown.map((one) => one.account)}::uuid[],
    ${shown.map((one) => one.subject)}::uuid[], ${shown.map((one) => one.item)}::uuid[])
    n (subscription_id, account_id, subject_id, item_id)
  join push_subscriptions s on s.id = n.subscription_id
  group by s.id, n.account_id, n.subject_id
  order by s.id, n.subject_id
  on conflict (subscription_id, subject_id) do update set item_id = excluded.item_id,
    shown_at = excluded.shown_at`

/** Takes back notifications. @param user null: of all @returns the browsers that show one, with what it is about */
export const takeShown = (
  tx: Tx,
  n: { account: string; subjects: readonly string[]; user: string | null; until: string | null },
) => tx.many<{ subscription_id: string; subject_id: string }>`
  with taken as materialized (
    select h.ctid as row from push_shown h join push_subscriptions s on s.id = h.subscription_id
    where h.account_id = ${n.account} and h.subject_id = any (${n.subjects}::uuid[])
      and (${n.until}::uuid is null or h.item_id <= ${n.until}::uuid)
      and (${n.user}::uuid is null or s.person_id = (
        select person_id from users where account_id = ${n.account} and id = ${n.user}::uuid))
    order by h.subscription_id, h.subject_id for update of h)
  delete from push_shown where ctid = any (array(select row from taken))
  returning subscription_id, subject_id`

/** Stores the outcome of deliveries. @param failures by subscription; null for a delivery */
export const noteOutcomes = (tx: Tx, outcomes: ReadonlyMap<string, string | null>) => tx.run`
  update push_subscriptions s set
    delivered_at = case when o.failure is null then clock_timestamp() else s.delivered_at end,
    failed_at = case when o.failure is not null then clock_timestamp() end,
    failure = o.failure
  from unnest(${[...outcomes.keys()]}::uuid[], ${[...outcomes.values()]}::text[]) o (id, failure)
  where s.id = o.id`
