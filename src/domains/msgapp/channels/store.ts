import { dialledForms } from '@trunkline/phone/number-forms.ts'
import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { ChatChannelState } from '../../../ports/chat.ts'

export type Phase = ChatChannelState['phase']

/** A channel with its current status: see `connection_status`. */
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
  /** Connected only with a recent round trip, whatever phase is stored. */
  connection_status: 'C' | 'D' | 'F'
  /** Seconds since the last round trip; null before the first. */
  proof_age: number | null
  sealed_pairing: Buffer | null
}

// The view msgapp_channel_status (migrations/baseline/14_msgapp.sql) alone defines `connection_status`.

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<ChannelRow>`select * from msgapp_channel_status where account_id = ${account} and id = ${id}`

/** Locks the channel row. */
export const lock = async (tx: Tx, account: string, id: string): Promise<ChannelRow | null> => {
  await tx.maybe`
    select 1 from msgapp_channels where account_id = ${account} and id = ${id} and deleted_at is null for update`
  return find(tx, account, id)
}

/** Finds the channel of a number, in any of its forms. */
export const byNumber = (sql: Sql, account: string, number: string) => sql.maybe<ChannelRow>`
  select * from msgapp_channel_status
  where account_id = ${account} and phone_number = any (${[...dialledForms(number)]}::text[])
  order by phone_number = ${number} desc limit 1`

export type StatusFilter = 'connected' | 'disconnected' | 'all'

/**
 * The channels of an account, newest first. The quota bounds their number, so the status, which changes with the time,
 * needs no index.
 */
const channelsOf = (account: string, status: StatusFilter) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add("(connection_status = 'C') = ?", status === 'all' ? null : status === 'connected')
  return makeListQuery({ table: 'msgapp_channel_status', key: byTimeAndId(), isNewestFirst: true }, conditions)
}

export const page = (db: Sql, account: string, status: StatusFilter, at: ListPage) => {
  const { text, values } = channelsOf(account, status).page(`*, ${exactTime('created_at')} as at`, at)
  return db.raw<ChannelRow & { at: string }>(text, values)
}

export const count = (db: Sql, account: string, status: StatusFilter) =>
  countRows(db, channelsOf(account, status).total())

/** Channels that are not deleted, in any state. */
export const countUsed = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ used: number }>`
      select count(*)::integer as used from msgapp_channels where account_id = ${account} and deleted_at is null`
  ).used

export type NewChannel = Pick<
  ChannelRow,
  'account_id' | 'id' | 'connection_id' | 'platform' | 'phone_number' | 'friendly_name' | 'iso_country_code'
> & {
  /** Possible time zones of the number. */
  timezones: readonly string[]
}

/**
 * Creates a channel. Returns false if the number has one in any of its forms, or belongs to another account. A number of the account
 * keeps its time zone. If several zones are possible, the country's main one is used (+447 is Guernsey, the Isle of
 * Man, Jersey and London).
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
      where not exists (select 1 from virtual_numbers v left join number_groups g on g.id = v.group_id
        where v.number = ${c.phone_number} and v.released_at is null and v.account_id <> ${c.account_id}
          and g.supplier is distinct from 'sandbox')
        and not exists (select from msgapp_channels o
          where o.phone_number = any (${[...dialledForms(c.phone_number)]}::text[]) and o.deleted_at is null)
      on conflict (phone_number) where deleted_at is null do nothing
      returning account_id, id
    ), told as (
      insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
      select account_id, id, ${uuid()}::uuid, 'initializing', 'it was just made', app_now() from made
    )
    insert into msgapp_links (account_id, channel_id, phase, reason, since)
    select account_id, id, 'connecting', 'it was just made', app_now() from made`) === 1

/** @returns false if nothing changed */
export const enable = async (tx: Tx, account: string, id: string, enabled: boolean): Promise<boolean> =>
  (await tx.run`
    update msgapp_channels set enabled = ${enabled}, updated_at = app_now()
    where account_id = ${account} and id = ${id} and enabled <> ${enabled}`) === 1

/**
 * Finds the channel of a number.
 * @param own true: the account's; false: another account's
 */
export const ofNumber = (tx: Tx, number: string, account: string, own: boolean) => tx.maybe<{
  account_id: string
  id: string
  connection_id: string
  platform: string
}>`
  select account_id, id, connection_id, platform from msgapp_channels
  where phone_number = ${number} and deleted_at is null and (account_id = ${account}) = ${own}
  for update`

/** Locks the link of a channel. */
export const lockLink = (tx: Tx, account: string, id: string) => tx.run`
  select from msgapp_links where account_id = ${account} and channel_id = ${id} for update`

/** Locks the oldest channels of these networks that never connected since they were made this long ago. */
export const lockUnpaired = (tx: Tx, platforms: readonly string[], hours: number, limit: number) => tx.many<{
  account_id: string
  id: string
}>`
  select c.account_id, c.id from msgapp_channels c
  join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
  where c.platform = any (${platforms}::text[]) and c.deleted_at is null
    and c.created_at <= app_now() - make_interval(hours => ${hours}) and l.proved_at is null and l.possessed_at is null
  order by c.created_at, c.id limit ${limit} for update skip locked`

/** The account that has this number on the messaging app. */
export const ownersOf = (sql: Sql, numbers: readonly string[]) => sql.many<{ number: string; account_id: string }>`
  select phone_number as number, account_id from msgapp_channels
  where phone_number = any (${numbers}::text[]) and deleted_at is null`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  update msgapp_channels set enabled = false, deleted_at = app_now(), updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** A number's own profile, as the network reports it. */
export type ChannelProfile = {
  channel: string
  /** The network's id of the number. */
  networkId: string | null
  pushname: string | null
  server: string | null
  business: boolean | null
}

export const updateProfiles = (tx: Tx, profiles: readonly ChannelProfile[]) => tx.run`
  update msgapp_channels c set pushname = coalesce(m.pushname, c.pushname), server = coalesce(m.server, c.server),
    is_business = coalesce(m.business, c.is_business), network_id = coalesce(m.network_id, c.network_id),
    updated_at = app_now()
  from unnest(${profiles.map(({ channel }) => channel)}::uuid[], ${profiles.map(({ pushname }) => pushname)}::text[],
    ${profiles.map(({ server }) => server)}::text[], ${profiles.map(({ business }) => business)}::boolean[],
    ${profiles.map(({ networkId }) => networkId)}::text[]) m (id, pushname, server, business, network_id)
  where c.id = m.id and c.deleted_at is null
    and (c.pushname, c.server, c.is_business, c.network_id) is distinct from (coalesce(m.pushname, c.pushname),
      coalesce(m.server, c.server), coalesce(m.business, c.is_business), coalesce(m.network_id, c.network_id))`

/** A channel that its connection must run. */
export type RunnableChannelRow = Pick<ChannelRow, 'account_id' | 'id' | 'platform' | 'phone_number' | 'phase'> & {
  name: string
  /** The number is proved only by its sale in the sandbox. */
  stock: boolean
}

export const listRunnable = (db: Db, connection: string) => db.many<RunnableChannelRow>`
  select c.account_id, c.id, c.platform, c.phone_number, l.phase, coalesce(nullif(c.pushname, ''), c.friendly_name) as name,
    (select bool_and(p.stock) from number_possession p
     where p.account_id = c.account_id and p.phone_number = c.phone_number) is true as stock
  from msgapp_channels c join msgapp_links l on l.account_id = c.account_id and l.channel_id = c.id
  where c.connection_id = ${connection} and c.enabled and c.deleted_at is null`

/**
 * The channel of a number on a connection, enabled or not. The network's id of the number decides; the number itself
 * finds a channel that was not connected yet.
 */
export const findCarried = (
  sql: Sql,
  connection: string,
  { id, number }: { readonly id: string | null; readonly number: string },
) => sql.maybe<{
  account_id: string
  id: string
  platform: string
  phone_number: string
}>`
  select account_id, id, platform, phone_number from msgapp_channels
  where connection_id = ${connection} and deleted_at is null
    and (network_id = ${id} or phone_number = any (${[...dialledForms(number)]}::text[]))
  order by network_id = ${id} desc nulls last, created_at desc limit 1`

/** Time of the newest inbound message of each channel that has one, Unix milliseconds. */
export const newestInbound = async (
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

/**
 * Whether a connection has channels.
 * @param except accounts whose channels are ignored
 */
export const isUsed = async (sql: Sql, connection: string, except: readonly string[]): Promise<boolean> =>
  (await sql.maybe`
    select 1 from msgapp_channels
    where connection_id = ${connection} and account_id <> all(${except}::uuid[]) and deleted_at is null limit 1`) !==
  null

export type Count = { platform: string; status: string; count: number }

export const countAll = (db: Db) => db.many<Count>`
  select platform, connection_status as status, count(*)::integer as count from msgapp_channel_status where enabled
  group by platform, connection_status`

export const idsOf = async (tx: Tx, account: string): Promise<string[]> =>
  (
    await tx.many<{ id: string }>`
      select id from msgapp_channels where account_id = ${account} and deleted_at is null order by id for update`
  ).map(({ id }) => id)
