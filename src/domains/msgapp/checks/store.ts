import { dialledForms } from '@trunkline/phone/number-forms.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ChatNumberCheck } from '../../../ports/chat.ts'
import type { Window } from './sliding-window.ts'

/** Returns the last minute's window, locked until the transaction ends; `now` is the platform clock. */
export const lockWindow = (tx: Tx, owner: string) => tx.one<{ times: number[]; counts: number[]; now: number }>`
  insert into msgapp_rate_limits (owner) values (${owner})
  on conflict (owner) do update set times = msgapp_rate_limits.times
  returning times, counts, extract(epoch from app_now())::float8 * 1000 as now`

export const storeWindow = (tx: Tx, owner: string, { times, counts }: Window) => tx.run`
  update msgapp_rate_limits set times = ${times}::float8[], counts = ${counts}::integer[] where owner = ${owner}`

type QuotaRow = {
  number_checks: number
  api_requests: number
  max_number_checks: number | null
  max_api_requests: number | null
}

/**
 * Counts checks of an account and their API calls beyond the request itself; locks the row until the transaction
 * ends.
 */
export const count = (tx: Tx, account: string, checks: number, calls: number) => tx.one<QuotaRow>`
  with counted as (
    update rate_limit_usage set number_checks = number_checks + ${checks}::bigint, api_requests = api_requests + ${calls}::bigint
    where account_id = ${account} returning account_id, number_checks, api_requests
  )
  select c.number_checks, c.api_requests, a.max_number_checks, a.max_api_requests
  from counted c join accounts a on a.id = c.account_id`

type CacheKey = { readonly account: string; readonly connection: string; readonly extra: boolean }

/** Cached results of an account that are still fresh, with extra information if requested. */
export const findFresh = (sql: Sql, { account, connection, extra }: CacheKey, numbers: readonly string[]) =>
  sql.many<{ number: string; found: ChatNumberCheck }>`
    select distinct on (number) number, found from msgapp_checks
    where account_id = ${account} and connection_id = ${connection} and number = any(${numbers}::text[])
      and (extra or not ${extra}) and until > app_now()
    order by number, extra desc`

/** Caches results: registered numbers for seven days, others for one; unknown results are not cached. */
export const cacheResults = (
  tx: Tx,
  { account, connection, extra }: CacheKey,
  found: readonly ChatNumberCheck[],
) => tx.run`
  insert into msgapp_checks (account_id, connection_id, number, extra, found, until)
  select distinct on (f.number) ${account}::uuid, ${connection}::uuid, f.number, ${extra}::boolean, f.found::jsonb,
    (select app_now()) + case when f.there = 'yes' then interval '7 days' else interval '1 day' end
  from unnest(
    ${found.map(({ number }) => number)}::text[], ${found.map(({ there }) => there)}::text[],
    ${found.map((one) => JSON.stringify(one))}::text[]) f (number, there, found)
  where f.there <> 'unknown'
  on conflict (account_id, connection_id, number, extra) do update set found = excluded.found, until = excluded.until`

export const purgeStale = (tx: Tx) => tx.run`
  delete from msgapp_checks where (account_id, connection_id, number, extra) in (
    select account_id, connection_id, number, extra from msgapp_checks where until <= app_now() order by until limit 5000)`

export type BatchRow = {
  id: string
  numbers: string[]
  extra: boolean
  results: Record<string, unknown>
  state: 'running' | 'completed'
  created_at: Date
  updated_at: Date
}

export const addBatch = (tx: Tx, account: string, id: string, numbers: readonly string[], extra: boolean) =>
  tx.one<BatchRow>`
    insert into msgapp_batches (account_id, id, numbers, extra, state, created_at, updated_at)
    values (${account}, ${id}, ${numbers}::text[], ${extra}, 'running', app_now(), app_now())
    returning *`

export const batch = (sql: Sql, account: string, id: string) =>
  sql.maybe<BatchRow>`select * from msgapp_batches where account_id = ${account} and id = ${id}`

/** Deletes batches older than thirty days. */
export const purgeBatches = (tx: Tx) => tx.run`
  delete from msgapp_batches where (account_id, id) in (
    select account_id, id from msgapp_batches where created_at < app_now() - interval '30 days'
    order by created_at limit 5000)`

/** Adds results; the last one completes the batch. Null if it was complete before. */
export const addResults = (tx: Tx, account: string, id: string, results: Readonly<Record<string, unknown>>) =>
  tx.maybe<BatchRow>`
    update msgapp_batches b set results = n.results, updated_at = app_now(),
      state = case when n.done >= cardinality(b.numbers) then 'completed' else b.state end
    from (
      select results || ${results}::jsonb as results,
        (select count(*) from jsonb_object_keys(results || ${results}::jsonb)) as done
      from msgapp_batches where account_id = ${account} and id = ${id} for update
    ) n
    where b.account_id = ${account} and b.id = ${id} and b.state = 'running'
    returning b.*`

/** A channel of the account, by its uuid or its number. */
export type CheckChannelRow = {
  id: string
  connection_id: string
  platform: string
  phone_number: string
  connection_status: string
}

export const findChannel = (sql: Sql, account: string, by: { id: string } | { number: string }) =>
  'id' in by
    ? sql.maybe<CheckChannelRow>`select * from msgapp_channel_status where account_id = ${account} and id = ${by.id}`
    : sql.maybe<CheckChannelRow>`select * from msgapp_channel_status where account_id = ${account} and phone_number = any (${[...dialledForms(by.number)]}::text[]) limit 1`

/** Connected channels of an account; `is_business` if one has a business profile. */
export const listConnected = (sql: Sql, account: string) => sql.many<CheckChannelRow & { is_business: boolean }>`
  select * from msgapp_channel_status where account_id = ${account} and connection_status = 'C' order by id`
