import type { Db, Tx } from '../../platform/db/sql.ts'
import { maxClockOffsetSeconds } from './limits.ts'

/**
 * Period in which an account held a number: from the creation of its record to that of the number's next record. Both
 * ids are UUIDs version 7, which contain the real time.
 */
export type OwnershipPeriod = { number: string; id: string; next: string | null }

export const ownershipPeriods = (db: Db, account: string, numbers: readonly string[]) => db.many<OwnershipPeriod>`
  select v.number, v.id, (
    select n.id from virtual_numbers n where n.number = v.number and n.id > v.id order by n.id limit 1
  ) as next
  from virtual_numbers v where v.account_id = ${account} and v.number = any(${numbers}::text[])`

/** Messages of an account by the carrier ids of their first parts, normalised as in the index. */
export const byCarrierId = (db: Db, account: string, carrierIds: readonly string[]) => db.many<{
  carrier_id: string
  message_id: string
}>`
  select p.carrier_id, p.message_id from sms_parts p
  join sms_messages m on m.account_id = p.account_id and m.id = p.message_id
  where p.connection_id in (select id from connections where name = 'sandbox')
    and ltrim(lower(p.carrier_id), '0') = any(${carrierIds.map((id) => id.toLowerCase().replace(/^0+/, ''))}::text[])
    and p.account_id = ${account}`

/** True while the account holds the number for SMS. */
export const hasSmsNumber = async (db: Db, account: string, number: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from sms_channels where account_id = ${account} and phone_number = ${number} and enabled`) !== null

/** Returns null when the clock would move more than a century ahead. */
export const advance = (tx: Tx, seconds: number) => tx.maybe<{ now: Date }>`
  update clock set offset_seconds = offset_seconds + ${seconds}::bigint
  where offset_seconds + ${seconds}::bigint <= ${maxClockOffsetSeconds}::bigint
  returning now() + make_interval(secs => offset_seconds) as now`

export const offset = (db: Db) => db.one<{ offset_seconds: number }>`select offset_seconds from clock`

/**
 * Numbers changed since then, in order after a given one, and whether a sandbox account uses them for SMS and for
 * calls.
 */
export const changedNumbers = (db: Db, since: Date, after: string, most: number) => db.many<{
  number: string
  texts: boolean
  calls: boolean
}>`
  select v.number, coalesce(bool_or(c.enabled and a.sandbox), false) as texts,
    bool_or(v.released_at is null and a.sandbox) as calls
  from virtual_numbers v join accounts a on a.id = v.account_id
  left join sms_channels c on c.account_id = v.account_id and c.virtual_number_id = v.id
  where v.number > ${after} and v.number in (
    select number from virtual_numbers where updated_at > ${since}
    union all
    select phone_number from sms_channels where updated_at > ${since})
  group by v.number order by v.number limit ${most}`

/** Like `ownershipPeriods`, for channels of the messaging app. */
export const chatOwnershipPeriods = (db: Db, account: string, numbers: readonly string[]) => db.many<OwnershipPeriod>`
  select c.phone_number as number, c.id, (
    select n.id from msgapp_channels n where n.phone_number = c.phone_number and n.id > c.id order by n.id limit 1
  ) as next
  from msgapp_channels c where c.account_id = ${account} and c.phone_number = any(${numbers}::text[])`

/** Messages of an account by the network's ids. */
export const byNetworkId = (db: Db, account: string, ids: readonly string[]) => db.many<{
  network_id: string
  message_id: string
}>`
  select m.network_id, m.id as message_id from msgapp_channels c
  join msgapp_messages m on m.channel_id = c.id and m.network_id = any(${ids}::text[])
  where c.account_id = ${account} and m.account_id = ${account}`

/** The network's id of a message, by its id or an alias of it. */
export const networkIdOf = async (db: Db, account: string, message: string): Promise<string | null> =>
  (
    await db.maybe<{ network_id: string | null }>`
      select network_id from msgapp_messages where account_id = ${account} and id = coalesce(
        (select message_id from msgapp_aliases where account_id = ${account} and id = ${message}), ${message})`
  )?.network_id ?? null

/** The network's id of a group of an account. */
export const groupOnNetwork = async (db: Db, account: string, group: string): Promise<string | null> =>
  (
    await db.maybe<{ network_id: string | null }>`
      select network_id from msgapp_groups where account_id = ${account} and id = ${group}`
  )?.network_id ?? null

/** True while the account holds the number for any use. */
export const holdsNumber = async (db: Db, account: string, number: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from virtual_numbers where account_id = ${account} and number = ${number} and released_at is null`) !==
  null

/** Calls of an account by their own ids. */
export const callsPlaced = (db: Db, account: string, ids: readonly string[]) => db.many<{ key: string; id: string }>`
  select id::text as key, id from calls where account_id = ${account} and id = any(${ids}::uuid[])`

/** Calls of an account by the carrier's Call-ID. */
export const callsReceived = (db: Db, account: string, callIds: readonly string[]) => db.many<{
  key: string
  id: string
}>`
  select callid as key, id from calls
  where account_id = ${account} and direction = 'I' and callid = any(${callIds}::text[])`
