import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { notifyOthers } from '../../../platform/db/wake-ups.ts'
import { giveUpIntervalMs, maxDeferredPairs } from '../limits.ts'
import { batchKind, submitKind } from './message-slots.ts'

/** SQL of the leases of SMS connections: see migrations/20261128T220000_carrier_leases.sql and
 *  20261129T030000_given_up_leases.sql. */

export type LeaseRow = {
  name: string
  owner: string
  /** Seconds until the end of the lease; at most 0 if it is over. */
  seconds: number
  is_up: boolean
  previous_owner: string | null
  /** Seconds since the lease of the previous owner ended. */
  previous_seconds: number | null
  /** Seconds since an owner gave the lease up, as it could not reach the carrier. */
  given_up_seconds: number | null
  /** Whether that is how the last owner's lease ended. */
  is_given_up: boolean
}

/**
 * Extends our leases and takes those that are free.
 * @param wanted names of leases, and whether the connection of each is up here
 * @returns all valid leases, and those that were given up of late
 */
export const renewLeases = (
  db: Sql,
  owner: string,
  wanted: readonly { readonly name: string; readonly isUp: boolean }[],
  seconds: number,
): Promise<LeaseRow[]> => db.many<LeaseRow>`
  with leased as (
    insert into carrier_leases as l (name, owner, leased_until, is_up)
    select w.name, ${owner}::uuid, clock_timestamp() + make_interval(secs => ${seconds}), w.is_up
    from unnest(${wanted.map(({ name }) => name)}::text[], ${wanted.map(({ isUp }) => isUp)}::boolean[]) w (name, is_up)
    where not exists (
      select from carrier_leases o
      where o.name = w.name and o.owner <> ${owner} and o.leased_until > clock_timestamp())
    -- A fixed order prevents deadlocks between processes.
    order by w.name
    on conflict (name) do update
      set owner = excluded.owner, leased_until = excluded.leased_until, is_up = excluded.is_up,
        previous_owner = case when l.owner = excluded.owner then l.previous_owner else l.owner end,
        previous_until = case when l.owner = excluded.owner then l.previous_until else l.leased_until end
      where l.owner = excluded.owner or l.leased_until <= clock_timestamp()
    returning l.*
  )
  select name, owner, extract(epoch from leased_until - clock_timestamp())::double precision as seconds, is_up,
    previous_owner, extract(epoch from clock_timestamp() - previous_until)::double precision as previous_seconds,
    extract(epoch from clock_timestamp() - given_up_at)::double precision as given_up_seconds,
    coalesce(given_up_at = case when leased_until > clock_timestamp() then previous_until else leased_until end, false)
      as is_given_up
  from (
    select * from leased
    union all
    select * from carrier_leases o
    where (o.leased_until > clock_timestamp()
        or o.given_up_at > clock_timestamp() - make_interval(secs => ${giveUpIntervalMs / 1_000}))
      and not exists (select from leased d where d.name = o.name)
  ) l`

/**
 * Ends leases at once, and wakes the other processes. Their rows stay, for the next owner.
 * @param isGivenUp whether others may have them, as this process cannot reach the carrier
 */
export const releaseLeases = async (
  db: Sql,
  owner: string,
  names: readonly string[],
  isGivenUp = false,
): Promise<void> => {
  if (names.length === 0) return
  await db.run`
    update carrier_leases set leased_until = t.now, is_up = false,
      given_up_at = case when ${isGivenUp} then t.now else given_up_at end
    from (select clock_timestamp() as now) t
    where name = any (${names}::text[]) and owner = ${owner}`
  await notifyOthers(db, 'leases')
}

/** Deletes leases that ended long ago: of processes and of connections that are gone. */
export const deleteOldLeases = (tx: Tx) => tx.run`
  delete from carrier_leases where leased_until < clock_timestamp() - interval '1 day'`

/** Returns the messages to the queue that lost processes had claimed. Each keeps its place. A stalled process may hold the
 *  lock on some: those return when their own leases end. */
export const releaseJobsOf = (db: Db, owners: readonly string[]) => db.run`
  update jobs set leased_until = null, owner = null
  where id in (
    select id from jobs
    where leased_until is not null and owner = any (${owners}::uuid[])
      and (kind in (${submitKind}, ${batchKind}) or kind like ${`${submitKind}:%`})
    for update skip locked)`

export type DeferredMessage = { id: string; source: string; destination: string; seconds: number }

/** Returns the messages of a queue that have a job of their own and are due, or were tried before. Those that wait for
 *  a condition, such as the end of a pause, hold back no other. */
export const deferredMessages = (db: Sql, kind: string): Promise<DeferredMessage[]> => db.many<DeferredMessage>`
  select id, payload ->> 'from' as source, payload ->> 'to' as destination,
    greatest(0, extract(epoch from run_at - (select app_now())))::double precision as seconds
  from jobs
  where kind = ${kind} and leased_until is null and not parked and waits_for is null
    and run_at <= (select app_now()) + interval '1 hour' and (run_at <= (select app_now()) or last_error is not null)
  order by run_at, id limit ${maxDeferredPairs}`

/** Passes the own job of a message on to the queue of another slot. It loses no attempt, and gets its place by its acceptance or
 *  its time: one that was deferred here comes before later ones of its pair, which are passed on after it. */
export const passJob = async (
  db: Sql,
  { id, fence, kind, tried }: { id: string; fence: number; kind: string; tried: readonly string[] },
): Promise<void> => {
  await db.run`
    update jobs set kind = ${kind}, leased_until = null, owner = null, attempts = attempts - 1,
      run_at = least(run_at, coalesce((payload ->> 'send_at')::timestamptz, created_at)),
      payload = case when cardinality(${tried}::text[]) = 0 then payload
        else jsonb_set(payload, '{tried}', to_jsonb(${tried}::text[])) end
    where id = ${id} and fence = ${fence} and leased_until is not null`
}

/** Returns messages of slots that no longer exist to the queue. @param kinds the queues of all slots */
export const returnStrayJobs = (db: Sql, kinds: readonly string[]) => db.run`
  with recursive waiting as (
    (select kind from jobs where leased_until is null and not parked order by kind, run_at, id limit 1)
    union all
    select (
      select j.kind from jobs j where j.leased_until is null and not j.parked and j.kind > w.kind
      order by j.kind, j.run_at, j.id limit 1)
    from waiting w where w.kind is not null
  )
  update jobs set kind = ${submitKind}
  where leased_until is null and not parked and kind in (
    select kind from waiting where starts_with(kind, ${`${submitKind}:`}) and kind <> all (${kinds}::text[]))`
