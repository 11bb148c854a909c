import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import type { ChatProof } from '../../../ports/chat.ts'
import type { ChannelRow, Phase } from './store.ts'

// SQL of channel status. Writes of a connection's process take effect only while its lease lasts.

/** A status change. `name` is the name of the logged event; `pairing` is sealed. */
export type StatusChange = {
  channel: string
  phase: Phase
  reason: string
  name: string
  id: string
  pairing: Buffer | null
  /** Strength of the proof of possession that this connection gives. */
  proof: ChatProof
  /** The channel ends: logged even if the phase stays the same. */
  isEnd: boolean
}

/** The writer: the process that holds the lease, or null for changes that need none. */
export type LeaseHolder = { connection: string; owner: string } | null

/** @returns the changed channels with their new status and the phase before, each channel once */
export const applyChanges = (tx: Tx, holder: LeaseHolder, changes: readonly StatusChange[]) => tx.many<
  ChannelRow & { before: Phase }
>`
  with given as (
    select * from unnest(
      ${changes.map(({ channel }) => channel)}::uuid[], ${changes.map(({ phase }) => phase)}::text[],
      ${changes.map(({ reason }) => reason)}::text[], ${changes.map(({ name }) => name)}::text[],
      ${changes.map(({ id }) => id)}::uuid[], ${changes.map(({ pairing }) => pairing)}::bytea[],
      ${changes.map(({ proof }) => proof)}::text[], ${changes.map(({ isEnd }) => isEnd)}::boolean[])
      g (channel_id, phase, reason, name, id, pairing, proof, is_end)
  ), before as (
    select l.account_id, l.channel_id, l.phase, l.sealed_pairing from msgapp_links l
    join given g on g.channel_id = l.channel_id
    join msgapp_channels c on c.account_id = l.account_id and c.id = l.channel_id
    where c.deleted_at is null and (${holder === null} or (c.enabled and exists (
      select 1 from msgapp_leases where connection_id = ${holder?.connection ?? null}::uuid
        and owner = ${holder?.owner ?? null}::uuid and leased_until > clock_timestamp())))
      and (l.phase <> g.phase or g.pairing is distinct from l.sealed_pairing or g.is_end)
    order by l.channel_id for update of l
  ), changed as (
    update msgapp_links l set phase = g.phase, reason = g.reason, sealed_pairing = g.pairing,
      since = case when l.phase = g.phase then l.since else app_now() end,
      proved_at = case when g.phase = 'connected' then clock_timestamp() else l.proved_at end,
      possessed_at = case
        when g.phase = 'connected' and l.possessed_at is null and (g.proof = 'pairing' or (g.proof = 'listing' and exists (
          select from msgapp_channels c
          where c.account_id = l.account_id and c.id = l.channel_id and connection_has_only_account(c.connection_id, c.account_id))))
        then app_now() else l.possessed_at end
    from given g join before b on b.channel_id = g.channel_id
    where l.account_id = b.account_id and l.channel_id = b.channel_id
    returning l.account_id, l.channel_id, b.phase as before, l.phase, l.reason, l.since, l.proved_at, l.sealed_pairing,
      g.name, g.id as event_id
  ), told as (
    insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
    select account_id, channel_id, event_id, name, reason, app_now() from changed
  ), trimmed as (
    delete from msgapp_link_events e using (
      select account_id, channel_id, id, row_number() over (partition by account_id, channel_id order by id desc) as place
      from msgapp_link_events where channel_id in (select channel_id from changed)
    ) o
    where o.place >= 10 and e.account_id = o.account_id and e.channel_id = o.channel_id and e.id = o.id
  )
  select c.account_id, c.id, c.connection_id, c.platform, c.phone_number, c.friendly_name, c.iso_country_code, c.pushname,
    c.server, c.is_business, c.enabled, c.sync_contacts, c.timezone, c.lang, c.created_at, c.updated_at,
    d.before, d.phase, d.reason, d.since, d.sealed_pairing,
    case d.phase when 'failed' then 'F' when 'connected' then 'C' else 'D' end as connection_status,
    extract(epoch from clock_timestamp() - d.proved_at)::double precision as proof_age
  from changed d join msgapp_channels c on c.account_id = d.account_id and c.id = d.channel_id
  order by c.id`

/**
 * Stores round trips.
 * @returns channels that count as connected; others changed status meanwhile
 */
export const storePings = async (
  db: Db,
  holder: { connection: string; owner: string },
  channels: readonly string[],
): Promise<Set<string>> => {
  const rows = await db.many<{ channel_id: string }>`
    update msgapp_links l set proved_at = clock_timestamp()
    from msgapp_channels c
    where c.account_id = l.account_id and c.id = l.channel_id and c.enabled and c.deleted_at is null
      and l.channel_id = any(${channels}::uuid[]) and l.phase = 'connected'
      and exists (select 1 from msgapp_leases where connection_id = ${holder.connection} and owner = ${holder.owner}
        and leased_until > clock_timestamp())
    returning l.channel_id`
  return new Set(rows.map(({ channel_id }) => channel_id))
}

/** Condition of a schedule: a channel may be silent. */
export const hasSilent = `exists (select from msgapp_links l
  where (l.phase = 'connected' and l.proved_at <= clock_timestamp() - interval '12 seconds') or l.phase = 'pairing')`

/** Channels that were connected or pairing when their process stopped responding; `gone`: its lease has expired. */
export const findSilent = (tx: Tx) => tx.many<{ channel_id: string; gone: boolean }>`
  select l.channel_id, coalesce(s.leased_until <= clock_timestamp(), true) as gone
  from msgapp_links l join msgapp_channels c on c.account_id = l.account_id and c.id = l.channel_id
  left join msgapp_leases s on s.connection_id = c.connection_id
  where c.deleted_at is null and (
    (l.phase = 'connected' and l.proved_at <= clock_timestamp() - interval '12 seconds')
    or (l.phase = 'pairing' and coalesce(s.leased_until <= clock_timestamp(), true)))
  order by l.channel_id limit 1000`

/** Channels that a previous owner of the connection left as connected or pairing. */
export const findLeftConnected = (tx: Tx, connection: string) => tx.many<{ channel_id: string }>`
  select l.channel_id from msgapp_links l join msgapp_channels c on c.account_id = l.account_id and c.id = l.channel_id
  where c.connection_id = ${connection} and c.deleted_at is null and l.phase in ('connected', 'pairing')`

/** Logs a channel event, unless the same one was logged within the hour: it would displace others. */
export const logEvent = (
  tx: Tx,
  {
    account,
    channel,
    id,
    name,
    detail,
  }: { account: string; channel: string; id: string; name: string; detail: string },
) => tx.run`
  insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
  select ${account}::uuid, ${channel}::uuid, ${id}::uuid, ${name}::text, ${detail}::text, app_now()
  where not exists (
    select from msgapp_link_events
    where account_id = ${account} and channel_id = ${channel} and name = ${name} and at > app_now() - interval '1 hour')`

export type EventRow = { name: string; detail: string; at: Date }

/** The newest ten, newest first. */
export const events = (sql: Sql, account: string, channel: string) => sql.many<EventRow>`
  select name, detail, at from msgapp_link_events where account_id = ${account} and channel_id = ${channel}
  order by id desc limit 10`
