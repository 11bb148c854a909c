import type { Db, Tx } from '../db/sql.ts'

/** Until when a number was an account's: from the making of its record to that of the next record of the same number. Both
 *  are UUIDs version 7, which hold the real time. */
export type Tenure = { number: string; id: string; next: string | null }

export const tenures = (db: Db, account: string, numbers: readonly string[]) => db.many<Tenure>`
  select v.number, v.id, (
    select n.id from virtual_numbers n where n.number = v.number and n.id > v.id order by n.id limit 1
  ) as next
  from virtual_numbers v where v.account_id = ${account} and v.number = any(${numbers}::text[])`

/** The messages of an account by the ids that carriers gave their first parts, as the index has them. */
export const byCarrierId = (db: Db, account: string, carrierIds: readonly string[]) => db.many<{
  carrier_id: string
  message_id: string
}>`
  select p.carrier_id, p.message_id from sms_parts p
  join sms_messages m on m.account_id = p.account_id and m.id = p.message_id
  where p.connection_id in (select id from connections where name = 'sandbox')
    and ltrim(lower(p.carrier_id), '0') = any(${carrierIds.map((id) => id.toLowerCase().replace(/^0+/, ''))}::text[])
    and p.account_id = ${account}`

/** True while the number is the account's. */
export const owns = async (db: Db, account: string, number: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from sms_channels where account_id = ${account} and phone_number = ${number} and enabled`) !== null

const mostSeconds = 3_153_600_000

/** Null when the clock would leave the century to come. */
export const advance = (tx: Tx, seconds: number) => tx.maybe<{ now: Date }>`
  update clock set offset_seconds = offset_seconds + ${seconds}::bigint
  where offset_seconds + ${seconds}::bigint <= ${mostSeconds}::bigint
  returning now() + make_interval(secs => offset_seconds) as now`

export const offset = (db: Db) => db.one<{ offset_seconds: number }>`select offset_seconds from clock`

/** Numbers whose SMS channel changed since then, in their order after one of them, and whether an account has them now. */
export const lines = (db: Db, since: Date, after: string) => db.many<{ number: string; ours: boolean }>`
  select phone_number as number, bool_or(enabled) as ours from sms_channels
  where phone_number > ${after}
    and phone_number in (select phone_number from sms_channels where updated_at > ${since})
  group by phone_number order by phone_number limit 1000`
