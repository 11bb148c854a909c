import type { ChatChecked } from '../../connectors/chat-port.ts'
import type { Sql, Tx } from '../../db/sql.ts'
import type { Window } from './window.ts'

/** What was done within the last minute, locked against others until the transaction ends; `now` is the platform's clock. */
export const lockWindow = (tx: Tx, owner: string) => tx.one<{ times: number[]; counts: number[]; now: number }>`
  insert into msgapp_budgets (owner) values (${owner})
  on conflict (owner) do update set times = msgapp_budgets.times
  returning times, counts, extract(epoch from app_now())::float8 * 1000 as now`

export const keepWindow = (tx: Tx, owner: string, { times, counts }: Window) => tx.run`
  update msgapp_budgets set times = ${times}::float8[], counts = ${counts}::integer[] where owner = ${owner}`

type Counted = {
  number_checks: number
  api_requests: number
  max_number_checks: number | null
  max_api_requests: number | null
}

/** Counts checks of an account, and what they cost beyond the request itself in API calls; locked until the transaction ends. */
export const count = (tx: Tx, account: string, checks: number, calls: number) => tx.one<Counted>`
  with counted as (
    update meters set number_checks = number_checks + ${checks}::bigint, api_requests = api_requests + ${calls}::bigint
    where account_id = ${account} returning account_id, number_checks, api_requests
  )
  select c.number_checks, c.api_requests, a.max_number_checks, a.max_api_requests
  from counted c join accounts a on a.id = c.account_id`

type Where = { readonly account: string; readonly connection: string; readonly extra: boolean }

/** What an account knows of numbers, while it is fresh: with extra information where that is asked for. */
export const fresh = (sql: Sql, { account, connection, extra }: Where, numbers: readonly string[]) =>
  sql.many<{ number: string; found: ChatChecked }>`
    select distinct on (number) number, found from msgapp_checks
    where account_id = ${account} and connection_id = ${connection} and number = any(${numbers}::text[])
      and (extra or not ${extra}) and until > app_now()
    order by number, extra desc`

/** Registered numbers are known for seven days, others for one; what is unknown is not kept. */
export const keepFound = (tx: Tx, { account, connection, extra }: Where, found: readonly ChatChecked[]) => tx.run`
  insert into msgapp_checks (account_id, connection_id, number, extra, found, until)
  select distinct on (f.number) ${account}::uuid, ${connection}::uuid, f.number, ${extra}::boolean, f.found::jsonb,
    (select app_now()) + case when f.there = 'yes' then interval '7 days' else interval '1 day' end
  from unnest(
    ${found.map(({ number }) => number)}::text[], ${found.map(({ there }) => there)}::text[],
    ${found.map((one) => JSON.stringify(one))}::text[]) f (number, there, found)
  where f.there <> 'unknown'
  on conflict (account_id, connection_id, number, extra) do update set found = excluded.found, until = excluded.until`

export const forgetStale = (tx: Tx) => tx.run`
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

/** Those of more than thirty days ago. */
export const forgetBatches = (tx: Tx) => tx.run`
  delete from msgapp_batches where (account_id, id) in (
    select account_id, id from msgapp_batches where created_at < app_now() - interval '30 days'
    order by created_at limit 5000)`

/** Adds results; the batch is completed with the last of them. Null when it was before. */
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
export type Line = {
  id: string
  connection_id: string
  platform: string
  phone_number: string
  connection_status: string
}

export const line = (sql: Sql, account: string, by: { id: string } | { number: string }) =>
  'id' in by
    ? sql.maybe<Line>`select * from msgapp_standing where account_id = ${account} and id = ${by.id}`
    : sql.maybe<Line>`select * from msgapp_standing where account_id = ${account} and phone_number = ${by.number}`

/** The connected channels of an account; `is_business` where one has a business profile. */
export const connected = (sql: Sql, account: string) => sql.many<Line & { is_business: boolean }>`
  select * from msgapp_standing where account_id = ${account} and connection_status = 'C' order by id`
