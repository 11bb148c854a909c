import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { anonymousCaller, type Narrowing, visibleSql } from '../inbox/narrowing/ops.ts'
import type { CallQuality } from './call-quality.ts'
import type { CallCallbacks, CallPlacing, ProgramSource } from './programs/program-source.ts'

/** QUEUED: a call of the API that waits to be placed, or that does not ring yet. */
export type Status =
  | 'QUEUED'
  | 'RINGING'
  | 'ANSWERED'
  | 'COMPLETED'
  | 'MISSED'
  | 'FAILED'
  | 'BUSY'
  | 'NO_ANSWER'
  | 'CANCELED'

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
  quality: CallQuality | null
  /** Inbound calls: statements of the carrier about the numbers. */
  verstat: string | null
  npdi: boolean
  rn: string | null
  /** Inbound calls: the number that the caller withholds. Only operators read it. */
  asserted_number: string | null
  /** Inbound calls: the number that forwarded the call. */
  diverted_from: string | null
  /** Waits until the process that runs the calls places it. */
  queued: boolean
  /** Calls of the API: what they run, how they are placed, and when they may be; erased at the end. */
  program: ProgramSource | null
  placement: CallPlacing | null
  due_at: Date | null
  /** The receiver of the statuses of the call. */
  callbacks: CallCallbacks | null
  /** The call whose program dialled this one, and the number of calls before it that way. */
  parent_id: string | null
  depth: number
  application_id: string | null
  tags: Record<string, unknown>
  /** The maker of the call; null for calls from before. */
  origin: 'device' | 'trunk' | 'api' | 'dial' | null
  /** A program dialled a telephone from an inbound call. */
  forwarded: boolean
  /** Keys with a daily spend limit that count what it costs. */
  limited_keys: readonly string[] | null
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
  Partial<
    Pick<
      CallRow,
      | 'verstat'
      | 'npdi'
      | 'rn'
      | 'asserted_number'
      | 'diverted_from'
      | 'parent_id'
      | 'depth'
      | 'application_id'
      | 'origin'
      | 'forwarded'
      | 'callbacks'
      | 'limited_keys'
    >
  > & {
    /** Epoch of the process that runs the call. */
    readonly tenure?: number
    readonly queued?: boolean
    /** Default: RINGING. */
    readonly status?: Status
  }

/** Inserts a call; returns null if it exists. */
export const add = (tx: Tx, c: NewCall) => tx.maybe<CallRow>`
  insert into calls (account_id, id, callid, direction, user_id, from_number, to_number, iso_country_code, status, is_msgapp,
    is_trunk, caller_id, caller_id_used, virtual_number_id, toll_free, rate, epoch, verstat, npdi, rn,
    asserted_number, diverted_from, queued, parent_id, depth, application_id, origin, forwarded, callbacks,
    limited_keys)
  values (${c.account_id}, ${c.id}, ${c.callid}, ${c.direction}, ${c.user_id}, ${c.from_number}, ${c.to_number},
    ${c.iso_country_code}, ${c.status ?? 'RINGING'}, ${c.is_msgapp}, ${c.is_trunk}, ${c.caller_id}, ${c.caller_id_used},
    ${c.virtual_number_id}, ${c.toll_free}, ${c.rate}::numeric, ${c.tenure ?? null},
    ${c.verstat ?? null}, ${c.npdi ?? false}, ${c.rn ?? null}, ${c.asserted_number ?? null}, ${c.diverted_from ?? null},
    ${c.queued ?? false}, ${c.parent_id ?? null}, ${c.depth ?? 0}, ${c.application_id ?? null}, ${c.origin ?? null},
    ${c.forwarded ?? false}, ${c.callbacks ? JSON.stringify(c.callbacks) : null}::text::jsonb,
    ${c.limited_keys ?? null}::uuid[])
  on conflict do nothing
  returning *`

export const setHold = (tx: Tx, account: string, id: string, hold: string) => tx.run`
  update calls set hold_id = ${hold}, held_minutes = 1 where account_id = ${account} and id = ${id}`

/** Locks an open call and returns it with the platform's time. Returns null if it does not exist or has ended. */
export const lock = (tx: Tx, account: string, id: string) => tx.maybe<CallRow & { now: Date }>`
  select *, app_now() as now from calls where account_id = ${account} and id = ${id} and ended_at is null for update`

/** Adds keys with a daily spend limit to those that count what the calls cost that this one dials from now on. */
export const countFor = (tx: Tx, account: string, id: string, keys: readonly string[]) => tx.run`
  update calls set limited_keys = array(select unnest(limited_keys) union select unnest(${keys}::uuid[]))
  where account_id = ${account} and id = ${id}`

/** Stores that a call of the API rings. Returns null if it rang before, or is another call. */
export const ring = (tx: Tx, account: string, id: string) => tx.maybe<CallRow>`
  update calls set status = 'RINGING', ringing_at = app_now(), updated_at = app_now()
  where account_id = ${account} and id = ${id} and status = 'QUEUED' and ended_at is null
  returning *`

export const answer = (tx: Tx, account: string, id: string, user: string | null) => tx.one<CallRow>`
  update calls set status = 'ANSWERED', answered_at = app_now(), beat_at = app_now(), alive_at = now(),
    user_id = coalesce(${user}::uuid, user_id), updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

export const storeHeartbeat = (tx: Tx, account: string, id: string, minutes: number) => tx.run`
  update calls set beat_at = app_now(), alive_at = now(), held_minutes = ${minutes}
  where account_id = ${account} and id = ${id}`

export type CallEnding = Pick<CallRow, 'status' | 'end_reason' | 'duration' | 'billed' | 'price' | 'quality'> & {
  at: Date
}

export const end = (tx: Tx, account: string, id: string, e: CallEnding) => tx.one<CallRow>`
  update calls set status = ${e.status}, end_reason = ${e.end_reason}, ended_at = ${e.at}, duration = ${e.duration},
    billed = ${e.billed}, price = ${e.price}::numeric, quality = ${e.quality === null ? null : JSON.stringify(e.quality)}::text::jsonb,
    updated_at = app_now(), program = null, placement = null
  where account_id = ${account} and id = ${id}
  returning *`

const openCalls = () => {
  const conditions = makeConditions()
  conditions.push('ended_at is null')
  return makeListQuery(callsByTime, conditions)
}

/** Returns current calls of all accounts, newest first. */
export const findOpen = (db: Db, at: ListPage) => {
  const { text, values } = openCalls().page(`*, ${exactTime('created_at')} as at`, at)
  return db.raw<CallRow & { at: string }>(text, values)
}

export const countOpen = (db: Db) => countRows(db, openCalls().total())

/** Asks the process that runs the call to end it. Returns null if the call has ended. */
export const requestHangUp = (tx: Tx, account: string, id: string) => tx.maybe<CallRow>`
  update calls set hang_up_at = coalesce(hang_up_at, app_now())
  where account_id = ${account} and id = ${id} and ended_at is null returning *`

export const countOpenOfAccount = async (tx: Tx, account: string): Promise<number> =>
  (
    await tx.one<{ count: number }>`
      select count(*)::integer as count from calls where account_id = ${account} and ended_at is null`
  ).count

/** Returns calls with a hang-up request, of any process. */
export const findHangUpRequests = (db: Db) => db.many<Pick<CallRow, 'id'>>`
  select id from calls where hang_up_at is not null and ended_at is null order by hang_up_at limit 1000`

export type CallKey = Pick<CallRow, 'account_id' | 'id'>

/** Condition of a schedule: an open call had no heartbeat for some seconds. */
export const hasAbandoned = (silentSeconds: number) =>
  `exists (select from calls where ended_at is null and alive_at < now() - make_interval(secs => ${silentSeconds}))`

/** Returns answered calls without heartbeat for `silent` seconds, ringing ones for 5 minutes. 0: all voice calls. */
export const lockAbandoned = (tx: Tx, limit: number, silentSeconds: number) => tx.many<CallKey>`
  select account_id, id from calls
  where ended_at is null and not queued and ((${silentSeconds === 0} and not is_msgapp) or (alive_at < now() - make_interval(secs => ${silentSeconds})
    and (answered_at is not null or alive_at < now() - interval '5 minutes')))
  order by alive_at limit ${limit} for update skip locked`

/** Returns open voice calls of another epoch. */
export const lockEarlierEpochs = (tx: Tx, epoch: number, limit: number) => tx.many<CallKey>`
  select account_id, id from calls
  where ended_at is null and not is_msgapp and not queued and epoch is distinct from ${epoch}
  order by alive_at limit ${limit} for update skip locked`

export const find = (db: Sql, account: string, id: string) => db.maybe<CallRow>`
  select * from calls where account_id = ${account} and id = ${id}`

/** Calls by their ids, in any order. */
export const byIds = (db: Sql, account: string, ids: readonly string[]) => db.many<CallRow>`
  select c.* from unnest(${ids}::uuid[]) i (id)
  cross join lateral (select * from calls where account_id = ${account} and id = i.id limit 1) c`

export type CallFilter = {
  direction: 'O' | 'I' | null
  /** Forms of a number, as with the numbers below. */
  to: readonly string[] | null
  from: readonly string[] | null
  status: string | null
  since: Date | null
  user: string | null
  /** A number of either side. */
  number: readonly string[] | null
  recorded: boolean | null
  minDuration: number | null
  /** Digits of which a number of either side contains one of the forms. */
  digits: readonly string[] | null
  /** Numbers of the other side. */
  others: readonly string[] | null
  /** Conversations to which the list is limited, besides the user's own calls; null: none. */
  narrowing: Narrowing | null
}

const callsByTime = { table: 'calls', key: byTimeAndId(), isNewestFirst: true }

// As in the indexes calls_by_other_number and calls_by_own_number.
const other = "(case direction when 'O' then to_number else from_number end)"
const own = "(case direction when 'O' then caller_id_used else to_number end)"
const containsDigits = `exists (select from unnest(?::text[]) as form where strpos(concat_ws(' ', ${other}, ${own}), form) > 0)`
const isEnded = 'ended_at is not null'
const isOpen = 'ended_at is null'

/** Counterparts of a call of the table `examined`: the number, and of a network that hides it the id, or what became
 *  known since. */
const counterpartsSql = `array[${other}] || case when ${other} = '${anonymousCaller}'
  then array['remote:' || virtual_number_id || ':' || id] end || case when is_msgapp then array(
  select unnest(array['remote:' || w.channel_id || ':' || w.remote_id, h.number]) from msgapp_calls w
  left join msgapp_chats h on h.account_id = w.account_id and h.channel_id = w.channel_id and h.remote_id = w.remote_id
  where w.account_id = examined.account_id and w.id = examined.id) end`

/** The condition that a reader may see a call of the table `examined`. @param user placeholder */
const visibleCallSql = (user: string) =>
  `(coalesce(examined.user_id = ${user}::uuid, false) or ${visibleSql(counterpartsSql, 'examined.account_id', user)})`

/** Returns those of the calls that a reader may see. */
export const visible = async (
  db: Sql,
  { account, user }: Narrowing,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await db.raw<{ id: string }>(
    `select id from calls examined where account_id = $1 and id = any ($2::uuid[]) and ${visibleCallSql('$3')}`,
    [account, [...ids], user],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * The calls of an account, newest first. The indexes of the filters contain calls that have ended, so that the
 * heartbeats of a call do not write them; open calls are few.
 */
const callsOf = (account: string, f: CallFilter) => {
  const conditions = makeConditions()
  // One form, as nearly all numbers have, is read along the order of its index.
  const bindForms = (forms: readonly string[]) => `(${forms.map(conditions.bind).join(', ')})`
  conditions.add('account_id = ?', account)
  conditions.add('direction = ?', f.direction)
  if (f.to !== null) conditions.push(`direction = 'O' and to_number in ${bindForms(f.to)}`)
  if (f.from !== null) conditions.push(`direction = 'I' and from_number in ${bindForms(f.from)}`)
  conditions.add('status = ?', f.status)
  conditions.add('created_at >= ?', f.since)
  conditions.add('user_id = ?', f.user)
  if (f.recorded === true) conditions.push('recorded_at is not null')
  const filters = [
    ...(f.recorded === false ? [{ text: 'recorded_at is null and ?', value: true }] : []),
    ...(f.minDuration === null ? [] : [{ text: 'duration >= ?', value: f.minDuration }]),
    ...(f.digits === null ? [] : [{ text: containsDigits, value: [...f.digits] }]),
    ...(f.others === null ? [] : [{ text: `${other} = any (?::text[])`, value: [...f.others] }]),
    ...(f.narrowing === null ? [] : [{ text: visibleCallSql('?'), value: f.narrowing.user }]),
  ]
  if (filters.length > 0) {
    if (f.number !== null) filters.push({ text: `array[${other}, ${own}] && ?::text[]`, value: [...f.number] })
    return makeListQuery(callsByTime, conditions, [], { filters })
  }
  if (f.number !== null) {
    const forms = bindForms(f.number)
    return makeListQuery(callsByTime, conditions, [
      `${isEnded} and ${other} in ${forms}`,
      `${isEnded} and ${own} in ${forms} and (${other} in ${forms}) is not true`,
      `${isOpen} and (${other} in ${forms} or ${own} in ${forms})`,
    ])
  }
  const isFiltered = [f.direction, f.to, f.from, f.status, f.user].some((filter) => filter !== null)
  return makeListQuery(callsByTime, conditions, isFiltered ? [isEnded, isOpen] : [])
}

/** Returns a page of calls, newest first, with the last call that was examined if the page is short. */
export const page = async (db: Db, account: string, f: CallFilter, at: ListPage) => {
  const list = callsOf(account, f)
  const { text, values } = list.page(`*, ${exactTime('created_at')} as at`, at)
  const rows = await db.raw<CallRow & { at: string }>(text, values)
  const isShort = at.limit !== null && rows.length < at.limit && at.skip === 0
  const last = isShort ? list.lastExamined(at.after) : null
  const [examined = null] = last === null ? [] : await db.raw<{ time: string; id: string }>(last.text, last.values)
  return { rows, examined }
}

/** Counts calls; with a filter without an index, among the newest 10,000. @param after key that precedes the list */
export const total = async (db: Db, account: string, f: CallFilter, after: readonly string[] | null) => {
  const list = callsOf(account, f)
  const last = list.lastExamined(after)
  const [total, more] = await Promise.all([
    countRows(db, list.total(after)),
    last === null ? [] : db.raw(last.text, last.values),
  ])
  return { total, isCut: more.length > 0 }
}
