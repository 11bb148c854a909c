import type { Sql, Tx } from '../../platform/db/sql.ts'
import { maxExamined } from './limits.ts'

export type NewRequest = {
  readonly account: string
  readonly id: string
  readonly at: Date
  readonly requestId: string
  readonly key: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly errorCode: string | null
  readonly ms: number
}

export const add = (sql: Pick<Sql, 'run'>, rows: readonly NewRequest[]) => sql.run`
  insert into api_requests (account_id, id, at, request_id, key_id, method, route, status, error_code, ms)
  select * from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.at)}::timestamptz[],
    ${rows.map((r) => r.requestId)}::text[], ${rows.map((r) => r.key)}::uuid[], ${rows.map((r) => r.method)}::text[],
    ${rows.map((r) => r.route)}::text[], ${rows.map((r) => r.status)}::smallint[],
    ${rows.map((r) => r.errorCode)}::text[], ${rows.map((r) => r.ms)}::integer[])`

export type RequestRow = {
  id: string
  at: Date
  request_id: string
  method: string
  route: string
  status: number
  error_code: string | null
  key_last_four: string
  ms: number
}

export type RequestFilter = {
  readonly method: string | null
  readonly route: string | null
  readonly status: number | null
  readonly isRefused: boolean | null
  readonly errorCode: string | null
  readonly requestId: string | null
  readonly lastFour: string | null
  /** Ids between which the rows of the period are. */
  readonly firstId: string
  readonly lastId: string
}

type FoundRow = RequestRow & { examined: number; last_id: string | null }

/**
 * Returns a page of an account's requests, newest first, and the id where the next one begins. Filters have no index:
 * at most 10,000 rows are examined, which may leave a page short.
 */
export const page = async (
  sql: Sql,
  account: string,
  f: RequestFilter,
  { before, limit }: { before: string | null; limit: number },
): Promise<{ rows: readonly RequestRow[]; next: string | null }> => {
  const isPlain = [f.method, f.route, f.status, f.isRefused, f.errorCode, f.requestId, f.lastFour].every(
    (one) => one === null,
  )
  const examined = isPlain ? limit + 1 : maxExamined
  const found = await sql.many<FoundRow>`
    with examined as materialized (
      select * from api_requests
      where account_id = ${account} and id >= ${f.firstId}::uuid and id < least(${before ?? f.lastId}::uuid, ${f.lastId}::uuid)
      order by id desc limit ${examined}::integer
    ), found as (
      select r.id, r.at, r.request_id, r.method, r.route, r.status, r.error_code, r.ms, k.last_four as key_last_four
      from examined r cross join lateral (
        select coalesce((select last_four from api_keys where account_id = r.account_id and id = r.key_id), '') as last_four) k
      where (${f.method}::text is null or r.method = ${f.method})
        and (${f.route}::text is null or r.route = ${f.route})
        and (${f.status}::integer is null or r.status = ${f.status})
        and (${f.isRefused}::boolean is null or (r.status >= 400) = ${f.isRefused})
        and (${f.errorCode}::text is null or r.error_code = ${f.errorCode})
        and (${f.requestId}::text is null or r.request_id = ${f.requestId})
        and (${f.lastFour}::text is null or k.last_four = ${f.lastFour})
      order by r.id desc limit ${limit + 1}::integer
    )
    select f.*, x.examined, x.last_id
    from (select count(*)::integer as examined, (select id from examined order by id limit 1) as last_id from examined) x
    left join found f on true order by f.id desc`
  const all = found.filter(({ id }) => id !== null)
  const rows = all.slice(0, limit)
  const [first] = found
  if (all.length > limit) return { rows, next: rows.at(-1)?.id ?? null }
  return { rows, next: first && first.examined >= examined ? first.last_id : null }
}

/** Deletes at most `limit` requests older than these days. */
export const deleteOld = (tx: Tx, days: number, limit: number) => tx.run`
  delete from api_requests where (account_id, id) in (
    select account_id, id from api_requests
    where at < now() - make_interval(days => ${days}::integer) order by at limit ${limit}::integer)`
