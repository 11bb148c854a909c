import type { Sql } from '../../../platform/db/sql.ts'

type NumberRow = { id: string; number: string }

/** Choice of a channel: `only`, else the first existing preferred one, else the newest. */
export type Choice = { readonly only: string | null; readonly preferred: readonly string[] }

export const findSmsChannel = (
  sql: Sql,
  account: string,
  { only, preferred }: Choice,
  isInbound: boolean,
) => sql.maybe<NumberRow>`
  select id, phone_number as number from sms_channels
  where account_id = ${account} and (${only}::uuid is null or id = ${only}) and enabled
    and case when ${isInbound} then supports_sms_in else supports_sms_out end
  order by array_position(${preferred}::uuid[], id), id desc limit 1`

export const findCallNumber = (sql: Sql, account: string, { only, preferred }: Choice) => sql.maybe<NumberRow>`
  select id, number from virtual_numbers
  where account_id = ${account} and (${only}::uuid is null or id = ${only}) and released_at is null
  order by array_position(${preferred}::uuid[], id), id desc limit 1`

/** Sandbox channels precede newer ones. */
export const findChatChannel = async (sql: Sql, account: string, { only, preferred }: Choice): Promise<string | null> =>
  (
    await sql.maybe<{ id: string }>`
      select id from msgapp_channels
      where account_id = ${account} and (${only}::uuid is null or id = ${only}) and deleted_at is null
      order by array_position(${preferred}::uuid[], id), platform = 'sandbox' desc, enabled desc, id desc limit 1`
  )?.id ?? null

/** The network's id of a group with the channel: the first preferred one, else the newest. */
export const groupOfChannel = async (
  sql: Sql,
  account: string,
  channel: string,
  preferred: readonly string[],
): Promise<string | null> =>
  (
    await sql.maybe<{ network_id: string }>`
      select network_id from msgapp_groups
      where account_id = ${account} and channel_id = ${channel} and joined and network_id is not null
      order by array_position(${preferred}::text[], 'WAG' || id), id desc limit 1`
  )?.network_id ?? null

/** The numbers of a list that are not a channel of any account, in order. */
export const freeHandsets = async (sql: Sql, numbers: readonly string[]): Promise<string[]> => {
  const rows = await sql.many<{ number: string }>`
    select g.number from unnest(${numbers}::text[]) with ordinality g (number, place)
    where not exists (select from msgapp_channels where phone_number = g.number and deleted_at is null) order by g.place`
  return rows.map(({ number }) => number)
}

/** The first of these handsets without messages to or from a channel; null for none. */
export const unusedHandset = async (
  sql: Sql,
  account: string,
  channel: string,
  numbers: readonly string[],
): Promise<string | null> =>
  (
    await sql.maybe<{ number: string }>`
      select g.number from unnest(${numbers}::text[]) with ordinality g (number, place)
      where not exists (select from msgapp_channels where phone_number = g.number and deleted_at is null)
        and not exists (
        select from msgapp_chats c
        where c.account_id = ${account} and c.channel_id = ${channel} and c.peer = substr(g.number, 2) || '@c.us')
      order by g.place limit 1`
  )?.number ?? null
