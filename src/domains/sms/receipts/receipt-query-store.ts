import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import {
  firstQuerySeconds,
  longestReceiptSeconds,
  maxQueriedParts,
  maxQueriedPartsOfAccount,
  maxQuerySeconds,
  querySearchSeconds,
  refusedQueriesSeconds,
} from '../limits.ts'

/** SQL for parts whose receipt is missing, for which their carrier is asked. */

/** Returns those of the connections that did not refuse all questions of late. A change of a connection makes another
 *  attempt. */
export const askable = async (sql: Sql, connections: readonly string[]): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select g.id from unnest(${connections}::uuid[]) as g (id)
      where not exists (
        select from sms_receipt_checks r join connections c on c.id = r.connection_id
        where r.connection_id = g.id and r.queries_refused_at > c.updated_at
          and r.queries_refused_at > app_now() - make_interval(secs => ${refusedQueriesSeconds}))`
  ).map(({ id }) => id)

type ReceiptCounts = {
  connection_id: string
  /** Parts that wait for a question. */
  waiting: number
  /** Messages that ended without a receipt. */
  without_receipt: number
  /** When the carrier refused all questions; null if it may be asked. */
  refused_at: Date | null
}

/** Counts missing receipts by connection, for operators. */
export const countMissing = (sql: Sql) => sql.many<ReceiptCounts>`
  select r.connection_id, r.without_receipt, (
      select count(*) from sms_receipt_queries q where q.connection_id = r.connection_id) as waiting,
    case when r.queries_refused_at > c.updated_at
      and r.queries_refused_at > app_now() - make_interval(secs => ${refusedQueriesSeconds})
      then r.queries_refused_at end as refused_at
  from sms_receipt_checks r join connections c on c.id = r.connection_id`

/** Records that a carrier refuses all questions. */
export const refuseQueries = (sql: Sql, connection: string) => sql.run`
  insert into sms_receipt_checks (connection_id, until, queries_refused_at) values (${connection}, 'epoch', app_now())
  on conflict (connection_id) do update set queries_refused_at = excluded.queries_refused_at`

/** Makes the search find parts by the block ranges of their send times: without statistics, the planner reads the whole
 *  index by carrier. It runs once a minute on a varying number of rows, so a custom plan pays off. */
export const planForSearch = (tx: Tx) => tx.run`
  select set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true),
    set_config('enable_indexonlyscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`

/**
 * Adds the parts of some connections whose final receipt is missing 15 minutes after the submit, among those that were
 * sent in the next hours after the last search. A part beyond the limits of its connection or account is left out.
 * @returns whether the search has not reached the present
 */
export const addOverdueParts = async (tx: Tx, connections: readonly string[]): Promise<boolean> => {
  const { is_behind } = await tx.one<{ is_behind: boolean }>`
    with search as materialized (
      select greatest(until, app_now() - make_interval(secs => ${longestReceiptSeconds})) as until,
        app_now() - make_interval(secs => ${firstQuerySeconds}) as newest
      from sms_receipt_query_progress for update
    ), span as materialized (
      select until, greatest(until, least(newest, until + make_interval(secs => ${querySearchSeconds}))) as next, newest
      from search
    ), overdue as materialized (
      select p.account_id, p.message_id, p.part, p.connection_id, p.sent_at from sms_parts p
      where p.sent_at > (select until from span) and p.sent_at <= (select next from span)
        -- As text, so that no index by the connection is read: it has all its parts of all times.
        and p.connection_id::text = any (${connections}::text[]) and p.carrier_id is not null
        and p.status in ('sent', 'enroute', 'accepted', 'unknown')
    ), present as materialized (
      select connection_id, account_id, count(*) as parts from sms_receipt_queries
      where exists (select from overdue) group by connection_id, account_id
    ), numbered as (
      select o.*, row_number() over (partition by connection_id order by sent_at) as of_connection,
        row_number() over (partition by connection_id, account_id order by sent_at) as of_account
      from overdue o
    ), added as (
      insert into sms_receipt_queries (account_id, message_id, part, connection_id, sent_at, next_at)
      select n.account_id, n.message_id, n.part, n.connection_id, n.sent_at, (select app_now()) from numbered n
      where n.of_connection + coalesce((select sum(parts) from present p where p.connection_id = n.connection_id), 0)
          <= ${maxQueriedParts}
        and n.of_account + coalesce((
          select parts from present p where p.connection_id = n.connection_id and p.account_id = n.account_id), 0)
          <= ${maxQueriedPartsOfAccount}
      on conflict do nothing
    )
    update sms_receipt_query_progress w set until = span.next from span returning span.next < span.newest as is_behind`
  return is_behind
}

/** Removes the parts of a connection that were sent so long ago that no receipt is expected. */
export const removeOldParts = (tx: Tx, connection: string, seconds: number) => tx.run`
  delete from sms_receipt_queries
  where connection_id = ${connection} and sent_at <= app_now() - make_interval(secs => ${seconds})`

/** Removes the parts of all other connections: they are deleted or disabled. */
export const removeOtherParts = (tx: Tx, connections: readonly string[]) => tx.run`
  delete from sms_receipt_queries where connection_id <> all (${connections}::uuid[])`

/** Returns those of the connections with parts that are due. */
export const dueConnections = async (sql: Sql, connections: readonly string[]): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select g.id from unnest(${connections}::uuid[]) as g (id)
      where exists (
        select from sms_receipt_queries q where q.connection_id = g.id and q.next_at <= (select app_now()))`
  ).map(({ id }) => id)

export type QueryRow = {
  account_id: string
  message_id: string
  part: number
  parts: number
  connection_id: string
  /** Null: the part has a final receipt by now. */
  carrier_id: string | null
  /** Sender of the message. */
  number: string
  answer: string | null
}

/**
 * Claims due parts of a connection: accounts take turns. Each is due again after a time that doubles from attempt to
 * attempt, whatever becomes of this one. The transaction must have index plans.
 */
export const claim = (tx: Tx, connection: string, count: number) => tx.many<QueryRow>`
  with due as materialized (
    select account_id, message_id, part, next_at,
      row_number() over (partition by account_id order by next_at) as turn
    from sms_receipt_queries where connection_id = ${connection} and next_at <= (select app_now())
  ), chosen as materialized (
    select q.place, d.account_id, d.message_id, d.part
    from (select * from due order by turn, next_at limit ${count}) d
    cross join lateral (
      select ctid as place from sms_receipt_queries
      where account_id = d.account_id and message_id = d.message_id and part = d.part and next_at = d.next_at
      for update skip locked) q
  ), known as materialized (
    select c.*, p.parts, p.carrier_id, m.number from chosen c
    cross join lateral (
      select parts, case when status in ('sent', 'enroute', 'accepted', 'unknown') then carrier_id end as carrier_id
      from sms_parts where account_id = c.account_id and message_id = c.message_id and part = c.part) p
    cross join lateral (
      select number from sms_messages
      where account_id = c.account_id and id >= c.message_id and id <= c.message_id order by id limit 1) m
  )
  update sms_receipt_queries q set asked = least(q.asked + 1, 100),
    next_at = (select app_now())
      + make_interval(secs => least(${maxQuerySeconds}, ${firstQuerySeconds} * power(2, least(q.asked, 10))))
  from known k where q.ctid = k.place
  returning q.account_id, q.message_id, q.part, k.parts, q.connection_id, k.carrier_id, k.number, q.answer`

type Key = Pick<QueryRow, 'account_id' | 'message_id' | 'part'>

/** Gives a claimed part back: it was not asked for. @param seconds until it is due */
export const giveBack = (sql: Db | Sql, { account_id, message_id, part }: Key, seconds: number) => sql.run`
  update sms_receipt_queries set asked = greatest(asked - 1, 0), next_at = app_now() + make_interval(secs => ${seconds})
  where account_id = ${account_id} and message_id = ${message_id} and part = ${part}`

export const recordAnswer = (tx: Tx, { account_id, message_id, part }: Key, answer: string) => tx.run`
  update sms_receipt_queries set answer = ${answer}
  where account_id = ${account_id} and message_id = ${message_id} and part = ${part}`

export const remove = (sql: Sql, { account_id, message_id, part }: Key) => sql.run`
  delete from sms_receipt_queries
  where account_id = ${account_id} and message_id = ${message_id} and part = ${part}`
