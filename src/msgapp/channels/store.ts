import type { ChatLineState } from '../../connectors/chat-port.ts'
import type { Db, Sql, Tx } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'

export type Phase = ChatLineState['phase']

/** A channel with its link as it counts at this moment: see `connection_status`. */
export type ChannelRow = {
  account_id: string
  id: string
  connection_id: string
  platform: string
  phone_number: string
  friendly_name: string
  iso_country_code: string
  pushname: string
  server: string
  is_business: boolean
  enabled: boolean
  sync_contacts: boolean
  timezone: string
  lang: string
  created_at: Date
  updated_at: Date
  phase: Phase
  reason: string
  since: Date
  /** Connected only while a recent round trip says so, whoever wrote the phase. */
  connection_status: 'C' | 'D' | 'F'
  /** Seconds since the last round trip; null before the first. */
  proof_age: number | null
  sealed_pairing: Buffer | null
}

// The view msgapp_standing (migrations/0022) says what `connection_status` is, in one place.

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<ChannelRow>`select * from msgapp_standing where account_id = ${account} and id = ${id}`

/** Waits for whoever changes it. */
export const lock = async (tx: Tx, account: string, id: string): Promise<ChannelRow | null> => {
  await tx.maybe`
    select 1 from msgapp_channels where account_id = ${account} and id = ${id} and deleted_at is null for update`
  return find(tx, account, id)
}

export const byNumber = (sql: Sql, account: string, number: string) =>
  sql.maybe<ChannelRow>`select * from msgapp_standing where account_id = ${account} and phone_number = ${number}`

export type Shown = 'connected' | 'disconnected' | 'all'

/** Newest first. */
export const list = (db: Sql, account: string, shown: Shown, { limit, offset }: { limit: number; offset: number }) =>
  db.many<ChannelRow>`
    select * from msgapp_standing
    where account_id = ${account} and (${shown} = 'all' or (connection_status = 'C') = (${shown} = 'connected'))
    order by created_at desc, id desc limit ${limit} offset ${offset}`

export const count = async (db: Sql, account: string, shown: Shown): Promise<number> =>
  (
    await db.one<{ total: number }>`
      select count(*)::integer as total from msgapp_standing
      where account_id = ${account} and (${shown} = 'all' or (connection_status = 'C') = (${shown} = 'connected'))`
  ).total

/** Channels that were not deleted, whatever their state. */
export const countUsed = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ used: number }>`
      select count(*)::integer as used from msgapp_channels where account_id = ${account} and deleted_at is null`
  ).used

export type NewChannel = Pick<
  ChannelRow,
  'account_id' | 'id' | 'connection_id' | 'platform' | 'phone_number' | 'friendly_name' | 'iso_country_code'
> & {
  /** The time zones that its digits may be of. */
  timezones: readonly string[]
}

/**
 * False when the number has a channel, or is another account's. A number of the account's own keeps its time zone; of several
 * that are possible the country's main zone is taken (+447 is Guernsey, the Isle of Man, Jersey and London).
 */
export const create = async (tx: Tx, c: NewChannel): Promise<boolean> =>
  (await tx.run`
    with made as (
      insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
        timezone, created_at, updated_at)
      select ${c.account_id}::uuid, ${c.id}::uuid, ${c.connection_id}::uuid, ${c.platform}::text, ${c.phone_number}::text,
        ${c.friendly_name}::text, ${c.iso_country_code}::text,
        coalesce(
          (select timezone from virtual_numbers where account_id = ${c.account_id} and number = ${c.phone_number}
            and released_at is null),
          (select timezone from number_countries
            where iso_country_code = ${c.iso_country_code} and timezone = any(${c.timezones}::text[])),
          ${c.timezones[0] ?? 'UTC'}::text),
        app_now(), app_now()
      where not exists (select 1 from virtual_numbers
        where number = ${c.phone_number} and released_at is null and account_id <> ${c.account_id})
      on conflict (phone_number) where deleted_at is null do nothing
      returning account_id, id
    ), told as (
      insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
      select account_id, id, ${uuid()}::uuid, 'initializing', 'it was just made', app_now() from made
    )
    insert into msgapp_links (account_id, channel_id, phase, reason, since)
    select account_id, id, 'connecting', 'it was just made', app_now() from made`) === 1

/** @returns false when it was so already */
export const enable = async (tx: Tx, account: string, id: string, enabled: boolean): Promise<boolean> =>
  (await tx.run`
    update msgapp_channels set enabled = ${enabled}, updated_at = app_now()
    where account_id = ${account} and id = ${id} and enabled <> ${enabled}`) === 1

/** The channel of a number. @param own the account's, or else another one's */
export const ofNumber = (tx: Tx, number: string, account: string, own: boolean) => tx.maybe<{
  account_id: string
  id: string
  connection_id: string
  platform: string
}>`
  select account_id, id, connection_id, platform from msgapp_channels
  where phone_number = ${number} and deleted_at is null and (account_id = ${account}) = ${own}
  for update`

/** Whose number this is on the messaging app. */
export const ownerOf = (sql: Sql, number: string) => sql.maybe<{ account_id: string }>`
  select account_id from msgapp_channels where phone_number = ${number} and deleted_at is null`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  update msgapp_channels set enabled = false, deleted_at = app_now(), updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** What the network says of the number itself. */
export type Me = { channel: string; pushname: string | null; server: string | null; business: boolean | null }

export const describe = (tx: Tx, mine: readonly Me[]) => tx.run`
  update msgapp_channels c set pushname = coalesce(m.pushname, c.pushname), server = coalesce(m.server, c.server),
    is_business = coalesce(m.business, c.is_business), updated_at = app_now()
  from unnest(${mine.map(({ channel }) => channel)}::uuid[], ${mine.map(({ pushname }) => pushname)}::text[],
    ${mine.map(({ server }) => server)}::text[], ${mine.map(({ business }) => business)}::boolean[])
    m (id, pushname, server, business)
  where c.id = m.id and c.deleted_at is null
    and (c.pushname, c.server, c.is_business) is distinct from
      (coalesce(m.pushname, c.pushname), coalesce(m.server, c.server), coalesce(m.business, c.is_business))`

/** A line that its connection is to run. */
export type LineRow = Pick<ChannelRow, 'account_id' | 'id' | 'platform' | 'phone_number' | 'phase'> & {
  name: string
}

export const lines = (db: Db, connection: string) => db.many<LineRow>`
  select c.account_id, c.id, c.platform, c.phone_number, l.phase, coalesce(nullif(c.pushname, ''), c.friendly_name) as name
  from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
  where c.connection_id = ${connection} and c.enabled and c.deleted_at is null`

/** The channel of a number of a connection, enabled or not. */
export const carried = (sql: Sql, connection: string, number: string) => sql.maybe<{
  account_id: string
  id: string
  platform: string
}>`
  select account_id, id, platform from msgapp_channels
  where connection_id = ${connection} and phone_number = ${number} and deleted_at is null`

/** When the newest message that came in was written, Unix milliseconds, of those channels that have one. */
export const newest = async (
  db: Db,
  channels: readonly Pick<ChannelRow, 'account_id' | 'id'>[],
): Promise<Map<string, number>> => {
  const rows = await db.many<{ id: string; at: number }>`
    select c.id, m.at from unnest(
      ${channels.map((channel) => channel.account_id)}::uuid[], ${channels.map(({ id }) => id)}::uuid[]) c (account_id, id)
    cross join lateral (
      select extract(epoch from at)::double precision * 1000 as at from msgapp_messages
      where account_id = c.account_id and channel_id = c.id and direction = 'inbound'
      order by created_at desc, id desc limit 1) m`
  return new Map(rows.map(({ id, at }) => [id, at]))
}

export const deleted = (db: Db, ids: readonly string[]) => db.many<{ id: string }>`
  select id from msgapp_channels where id = any(${ids}::uuid[]) and deleted_at is not null`

/** Whether a connection has channels. @param except accounts whose channels do not count */
export const isUsed = async (sql: Sql, connection: string, except: readonly string[]): Promise<boolean> =>
  (await sql.maybe`
    select 1 from msgapp_channels
    where connection_id = ${connection} and account_id <> all(${except}::uuid[]) and deleted_at is null limit 1`) !==
  null

export type Count = { platform: string; status: string; count: number }

export const countAll = (db: Db) => db.many<Count>`
  select platform, connection_status as status, count(*)::integer as count from msgapp_standing where enabled
  group by platform, connection_status`
