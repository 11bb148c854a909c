import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { projectedEvents } from '../limits.ts'

/** Events that show a message of the account in a conversation that exists: of bulk messages few do. */
export const followingEvents = ['sms.message.sent', 'sms.message.failed', 'sms.message.delivered'] as const

/** Events that may begin or open a conversation. */
export const beginningEvents = [
  'sms.message.received',
  'msgapp.message.new',
  'msgapp.message.failed',
  'msgapp.call.received',
  'msgapp.call.made',
  'call.incoming.completed',
  'call.outbound.completed',
  'contact.created',
  'contact.updated',
] as const

/**
 * Makes the statements of a transaction read along indexes. A plan that was made while the event log was small would read
 * and sort all of it. Measured: accepting SMS then fell to half.
 */
export const planByIndex = (tx: Tx) =>
  tx.raw(`set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;
    set local enable_hashjoin = off; set local enable_mergejoin = off`)

export type ProjectedEvent = { id: string; name: string; subject: string }

/**
 * Reads the events of an account after an id that concern conversations, oldest first. The event log has no index by
 * name: `last` is the last event that was examined, if there are more.
 */
export const eventsAfter = async (
  sql: Sql,
  account: string,
  after: string,
): Promise<{ events: ProjectedEvent[]; last: string | null; count: number }> => {
  const rows = await sql.many<{ id: string | null; name: string; subject: string; last: string | null; count: number }>`
    with examined as materialized (
      select id, name, conversation from events
      where account_id = ${account} and id > ${after} order by id limit ${projectedEvents.read}::integer
    ), has as materialized (select exists (select from conversations where account_id = ${account}) as is_some)
    select e.id, e.name, e.subject, x.last, x.count::integer as count
    from (select (select id from examined order by id desc limit 1) as last, count(*) as count from examined) x
    left join lateral (
      select o.id, o.name, v.payload ->> 'uuid' as subject from (
        select id, name from examined
        where name = any (${[...beginningEvents]}::text[])
          or ((select h.is_some from has h) and name = any (${[...followingEvents]}::text[]) and (
            -- EXISTS would forget the order, and with it the index of counterparts.
            select true from conversations c
            where c.account_id = ${account} and c.counterpart >= canonical_number(split_part(conversation, ' ', 2))
              and c.counterpart <= canonical_number(split_part(conversation, ' ', 2))
            order by c.counterpart limit 1))) o
      cross join lateral (
        select payload, webhook_id from events
        where account_id = ${account} and id >= o.id and id <= o.id order by id limit 1) v
      where v.webhook_id is null) e on true
    order by e.id`
  const [first] = rows
  const events = rows.flatMap(({ id, name, subject }) =>
    id === null || subject === null ? [] : [{ id, name, subject }],
  )
  return { events, last: first?.last ?? null, count: first?.count ?? 0 }
}

/** Below every id. */
export const least = '00000000-0000-0000-0000-000000000000'

/**
 * Locks how far an account is projected, unless another process has it.
 * @returns the floor of the events to read; `busy` if another process projects the account; null if there is none
 */
export const lockPosition = async (tx: Tx, account: string): Promise<string | null> => {
  const locked = async () =>
    (
      await tx.maybe<{ floor: string }>`
        select floor from inbox_positions where account_id = ${account} for no key update skip locked`
    )?.floor ?? null
  const floor = await locked()
  if (floor !== null) return floor
  // An account that is newer than the inbox begins with its first event, and has no history.
  const made = await tx.run`
    insert into inbox_positions (account_id, floor, unread_after)
    select id, ${least}, ${least} from accounts where id = ${account} on conflict do nothing`
  if (made === 1) return await locked()
  return (await tx.maybe`select from accounts where id = ${account}`) ? 'busy' : null
}

export const storePosition = (tx: Tx, account: string, floor: string) => tx.run`
  update inbox_positions set floor = ${floor}, updated_at = clock_timestamp()
  where account_id = ${account} and floor < ${floor}`

/**
 * Looks for events that are not projected, of accounts after an id.
 * @param known accounts whose positions are in memory
 * @returns the accounts that have some, `urgent` if one of the first ones may open a conversation; and the last account
 * that was examined, if there may be more
 */
export const sweep = async (
  sql: Sql,
  {
    after,
    most,
    known,
    positions,
  }: {
    readonly after: string
    readonly most: number
    readonly known: readonly string[]
    readonly positions: readonly string[]
  },
): Promise<{ accounts: { account_id: string; urgent: boolean }[]; last: string | null }> => {
  const rows = await sql.many<{ account_id: string; urgent: boolean | null }>`
    select account_id, urgent from inbox_sweep(
      ${after}::uuid, ${most}, ${known}::uuid[], ${positions}::uuid[], ${[...beginningEvents]}::text[])`
  return {
    accounts: rows.flatMap(({ account_id, urgent }) => (urgent === null ? [] : [{ account_id, urgent }])),
    last: rows.find(({ urgent }) => urgent === null)?.account_id ?? null,
  }
}

/** Seconds between the oldest event that is not projected and now, of the account that is furthest behind. */
export const lagSeconds = async (sql: Sql, limit: number): Promise<number> =>
  (
    await sql.one<{ seconds: number }>`
      select coalesce(max(extract(epoch from clock_timestamp() - e.at)), 0)::double precision as seconds
      from (select account_id, floor from inbox_positions order by updated_at desc limit ${limit}) p
      cross join lateral (
        select to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) as at
        from events where account_id = p.account_id and id > p.floor
          and id < (lpad(to_hex((extract(epoch from clock_timestamp() - interval '20 seconds') * 1000)::bigint), 12, '0')
            || '70008000000000000000')::uuid
        order by id limit 1) e`
  ).seconds

/** Links the conversations with the numbers of contacts to them, and returns those that changed. */
export const linkContacts = (tx: Tx, account: string, contacts: readonly string[]) => tx.many<{ id: string }>`
  with named as materialized (
    select distinct on (d.match_key) d.match_key as number, c.id as contact_id,
      trim(c.first_name || ' ' || c.last_name) as name
    from unnest(${contacts}::uuid[]) g (id)
    join contact_details d on d.account_id = ${account} and d.contact_id = g.id
    join contacts c on c.account_id = ${account} and c.id = g.id
    where d.match_key like '+%'
    order by d.match_key, c.created_at
  ), held as materialized (
    select v.id, f.contact_id, f.name from (
      select o.id, n.contact_id, n.name from named n
      cross join lateral (
        select id, contact_id, name from conversations
        where account_id = ${account} and counterpart = n.number limit 1) o
      where (o.contact_id, o.name) is distinct from (n.contact_id, n.name) and n.name <> ''
      order by o.id offset 0) f
    join conversations v on v.account_id = ${account} and v.id = f.id
    order by f.id for update of v
  )
  update conversations v set contact_id = h.contact_id, name = h.name, version = v.version + 1
  from held h where v.account_id = ${account} and v.id = h.id
  returning v.id`
