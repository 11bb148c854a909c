import type { Db, Sql, Tx } from '../db/sql.ts'
import type { Cursor } from '../lib/cursor.ts'

export type Status = 'RINGING' | 'ANSWERED' | 'COMPLETED' | 'MISSED' | 'FAILED' | 'BUSY' | 'NO_ANSWER' | 'CANCELED'

export type CallRow = {
  account_id: string
  id: string
  callid: string
  direction: 'O' | 'I'
  user_id: string | null
  from_number: string | null
  to_number: string
  iso_country_code: string
  status: Status
  end_reason: string | null
  is_msgapp: boolean
  is_trunk: boolean
  caller_id: string | null
  caller_id_used: string
  virtual_number_id: string | null
  toll_free: boolean
  rate: string
  hold_id: string | null
  held_minutes: number
  beat_at: Date
  answered_at: Date | null
  ended_at: Date | null
  duration: number
  billed: number
  price: string
  recorded_at: Date | null
  /** Of inbound calls: what the carrier says of their numbers. */
  verstat: string | null
  npdi: boolean
  rn: string | null
  created_at: Date
  updated_at: Date
}

export type NewCall = Pick<
  CallRow,
  | 'account_id'
  | 'id'
  | 'callid'
  | 'direction'
  | 'user_id'
  | 'from_number'
  | 'to_number'
  | 'iso_country_code'
  | 'is_msgapp'
  | 'is_trunk'
  | 'caller_id'
  | 'caller_id_used'
  | 'virtual_number_id'
  | 'toll_free'
  | 'rate'
> &
  Partial<Pick<CallRow, 'verstat' | 'npdi' | 'rn'>> & {
    /** Of the voice that runs it. */
    readonly tenure?: number
  }

/** Null when it was begun before. */
export const add = (tx: Tx, c: NewCall) => tx.maybe<CallRow>`
  insert into calls (account_id, id, callid, direction, user_id, from_number, to_number, iso_country_code, status, is_msgapp,
    is_trunk, caller_id, caller_id_used, virtual_number_id, toll_free, rate, tenure, verstat, npdi, rn)
  values (${c.account_id}, ${c.id}, ${c.callid}, ${c.direction}, ${c.user_id}, ${c.from_number}, ${c.to_number},
    ${c.iso_country_code}, 'RINGING', ${c.is_msgapp}, ${c.is_trunk}, ${c.caller_id}, ${c.caller_id_used},
    ${c.virtual_number_id}, ${c.toll_free}, ${c.rate}::numeric, ${c.tenure ?? null},
    ${c.verstat ?? null}, ${c.npdi ?? false}, ${c.rn ?? null})
  on conflict do nothing
  returning *`

export const setHold = (tx: Tx, account: string, id: string, hold: string) => tx.run`
  update calls set hold_id = ${hold}, held_minutes = 1 where account_id = ${account} and id = ${id}`

/** An open call with the platform's time, for whoever changes it. Null when there is none, or it has ended. */
export const lock = (tx: Tx, account: string, id: string) => tx.maybe<CallRow & { now: Date }>`
  select *, app_now() as now from calls where account_id = ${account} and id = ${id} and ended_at is null for update`

export const answer = (tx: Tx, account: string, id: string, user: string | null) => tx.one<CallRow>`
  update calls set status = 'ANSWERED', answered_at = app_now(), beat_at = app_now(), alive_at = now(),
    user_id = coalesce(${user}::uuid, user_id), updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

export const beat = (tx: Tx, account: string, id: string, minutes: number) => tx.run`
  update calls set beat_at = app_now(), alive_at = now(), held_minutes = ${minutes}
  where account_id = ${account} and id = ${id}`

export type Ending = Pick<CallRow, 'status' | 'end_reason' | 'duration' | 'billed' | 'price'> & { at: Date }

export const end = (tx: Tx, account: string, id: string, e: Ending) => tx.one<CallRow>`
  update calls set status = ${e.status}, end_reason = ${e.end_reason}, ended_at = ${e.at}, duration = ${e.duration},
    billed = ${e.billed}, price = ${e.price}::numeric, updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

/** Calls under way of all accounts, newest first. */
export const open = (db: Db, limit: number, offset: number) => db.many<CallRow>`
  select * from calls where ended_at is null order by created_at desc, id desc limit ${limit} offset ${offset}`

export const openTotal = async (db: Db): Promise<number> =>
  (await db.one<{ total: number }>`select count(*)::integer as total from calls where ended_at is null`).total

/** Whoever runs the call is to end it. Null when it has ended. */
export const askToHangUp = (tx: Tx, account: string, id: string) => tx.maybe<CallRow>`
  update calls set hang_up_at = coalesce(hang_up_at, app_now())
  where account_id = ${account} and id = ${id} and ended_at is null returning *`

/** Calls, of whatever process, that are to be ended. */
export const toHangUp = (db: Db) => db.many<Pick<CallRow, 'id'>>`
  select id from calls where hang_up_at is not null and ended_at is null order by hang_up_at limit 1000`

export type CallKey = Pick<CallRow, 'account_id' | 'id'>

/** Open calls that no process has beaten for so many seconds if they are answered, for 5 minutes if they ring. 0: all of voice. */
export const abandoned = (tx: Tx, limit: number, silent: number) => tx.many<CallKey>`
  select account_id, id from calls
  where ended_at is null and ((${silent === 0} and not is_msgapp) or (alive_at < now() - make_interval(secs => ${silent})
    and (answered_at is not null or alive_at < now() - interval '5 minutes')))
  order by alive_at limit ${limit} for update skip locked`

/** Open calls of voice that were begun under another tenure. */
export const earlier = (tx: Tx, tenure: number, limit: number) => tx.many<CallKey>`
  select account_id, id from calls
  where ended_at is null and not is_msgapp and tenure is distinct from ${tenure}
  order by alive_at limit ${limit} for update skip locked`

export const find = (db: Sql, account: string, id: string) => db.maybe<CallRow>`
  select * from calls where account_id = ${account} and id = ${id}`

export type Filter = {
  direction: 'O' | 'I' | null
  to: string | null
  from: string | null
  status: string | null
  since: Date | null
  until: Date | null
}

/** Newest first. */
export const page = (
  db: Db,
  account: string,
  f: Filter,
  after: Cursor | null,
  limit: number,
  offset: number,
) => db.many<CallRow & { at: string }>`
  select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from calls
  where account_id = ${account}
    and (${f.direction}::text is null or direction = ${f.direction})
    and (${f.to}::text is null or (direction = 'O' and to_number = ${f.to}))
    and (${f.from}::text is null or (direction = 'I' and from_number = ${f.from}))
    and (${f.status}::text is null or status = ${f.status})
    and created_at >= coalesce(${f.since}::timestamptz, '-infinity')
    and created_at < coalesce(${f.until}::timestamptz, 'infinity')
    and (created_at, id) < (coalesce(${after?.time ?? null}::timestamptz, 'infinity'),
      coalesce(${after?.id ?? null}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  order by created_at desc, id desc limit ${limit} offset ${offset}`

export const total = async (db: Db, account: string, f: Filter): Promise<number> =>
  (
    await db.one<{ total: number }>`
      select count(*)::integer as total from calls
      where account_id = ${account}
        and (${f.direction}::text is null or direction = ${f.direction})
        and (${f.to}::text is null or (direction = 'O' and to_number = ${f.to}))
        and (${f.from}::text is null or (direction = 'I' and from_number = ${f.from}))
        and (${f.status}::text is null or status = ${f.status})
        and created_at >= coalesce(${f.since}::timestamptz, '-infinity')
        and created_at < coalesce(${f.until}::timestamptz, 'infinity')`
  ).total
