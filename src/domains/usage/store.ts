import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { UsageDimension, UsageKind, UsageStep } from './dimensions.ts'

/** Key of a transfer. */
export type TransferKey = { account_id: string; id: string }

/** Condition of a schedule: transfers are noted. */
export const hasPending = 'exists (select from usage_pending)'

/** Takes noted transfers. They are counted if the transaction commits. */
export const takePending = (tx: Tx, limit: number) => tx.many<TransferKey>`
  with taken as materialized (
    select account_id, transfer_id from usage_pending order by account_id, transfer_id limit ${limit}
    for update skip locked
  )
  delete from usage_pending p using taken t where (p.account_id, p.transfer_id) = (t.account_id, t.transfer_id)
  returning p.account_id, p.transfer_id as id`

/** Lists noted transfers of an account. @param after id of the last one of the page before; null: from the start */
export const pendingOf = (sql: Sql, account: string, after: string | null, limit: number) => sql.many<TransferKey>`
  select account_id, transfer_id as id from usage_pending
  where account_id = ${account} and (${after}::uuid is null or transfer_id > ${after}::uuid)
  order by account_id, transfer_id limit ${limit}`

/** Counts noted transfers, of one account or of all, up to a limit. */
export const countPending = async (sql: Sql, account: string | null, limit: number): Promise<number> => {
  const [text, values] = account === null ? ['', [limit]] : ['where account_id = $2', [limit, account]]
  const [row] = await sql.raw<{ count: number }>(
    `select count(*)::integer as count from (
       select from usage_pending ${text} order by account_id, transfer_id limit $1) noted`,
    values,
  )
  return row?.count ?? 0
}

/** A transfer, with the items that it paid for: equal ones of a batch share a row. */
export type SourceRow = TransferKey & {
  kind: string
  /** UTC day of the transfer, YYYY-MM-DD. */
  day: string
  debit: string
  amount: string
  /** The other party: E.164, of several items joined by commas; or as the carrier wrote it; null if unknown. */
  contacts: string | null
  country: string | null
  /** Id of the SMS channel or of the virtual number. */
  channel: string | null
  direction: 'inbound' | 'outbound' | null
  /** Units of each item. */
  units: number
  /** Share of each item in the transfer; null: all of it. */
  share: string | null
}

/**
 * Reads transfers with the items that they paid for. All messages of a batch have the time of its transfer, by which
 * the index finds them.
 */
export const sourcesOf = (sql: Sql, keys: readonly TransferKey[]) => sql.many<SourceRow>`
  select t.account_id, t.id, t.kind, t.day, t.debit, t.amount, i.contacts, i.country, i.channel, i.direction,
    coalesce(i.units, 1) as units, i.share
  from unnest(${keys.map(({ account_id }) => account_id)}::uuid[], ${keys.map(({ id }) => id)}::uuid[]) g (account_id, id)
  cross join lateral (
    select account_id, id, kind, debit, amount, reference, created_at,
      (created_at at time zone 'UTC')::date::text as day,
      -- A reference is an id with its prefix. The pattern keeps the cast from failing.
      case when reference ~ '^[A-Z]{3}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(reference, 4)::uuid end
        as item
    from transfers where (account_id, id) = (g.account_id, g.id) offset 0
  ) t
  left join lateral (
    select string_agg(m.contact, ',') as contacts, null::text as country, m.channel_id as channel,
      'outbound' as direction, m.fragments as units, m.price as share
    from sms_messages m
    where t.kind = 'sms' and m.account_id = t.account_id and m.created_at = t.created_at and m.transfer_id = t.id
    group by m.channel_id, m.fragments, m.price
    union all
    select m.contact, null, m.channel_id, m.direction, m.fragments, null
    from sms_messages m
    where t.kind in ('sms_in', 'sms_refund') and m.account_id = t.account_id and m.id = t.item
    union all
    select null, c.iso_country_code, c.virtual_number_id, case c.direction when 'I' then 'inbound' else 'outbound' end,
      c.billed, null
    from calls c where t.kind = 'call' and c.account_id = t.account_id and c.id = t.item
    union all
    select t.reference, v.iso_country_code, v.id, null, 1, null
    from (select 1) as one
    left join lateral (
      select id, iso_country_code from virtual_numbers
      where number = t.reference and account_id = t.account_id and (released_at is null or released_at >= t.created_at)
      order by id limit 1
    ) v on true
    where t.kind in ('number_purchase', 'number_month')
  ) i on true`

/** A sum to add to a day. */
export type DaySum = {
  account_id: string
  by: string
  day: string
  value: string
  kind: string
  n: number
  units: number
  /** Decimal. */
  amount: string
}

export const addSums = (tx: Tx, sums: readonly DaySum[]) => tx.run`
  insert into usage_days (account_id, by, day, value, kind, n, units, amount)
  select * from unnest(
    ${sums.map(({ account_id }) => account_id)}::uuid[], ${sums.map(({ by }) => by)}::text[],
    ${sums.map(({ day }) => day)}::date[], ${sums.map(({ value }) => value)}::text[],
    ${sums.map(({ kind }) => kind)}::text[], ${sums.map(({ n }) => n)}::bigint[],
    ${sums.map(({ units }) => units)}::bigint[], ${sums.map(({ amount }) => amount)}::numeric[])
  on conflict (account_id, by, day, value, kind) do update
    set n = usage_days.n + excluded.n, units = usage_days.units + excluded.units,
      amount = usage_days.amount + excluded.amount`

/** Days of a report, YYYY-MM-DD: from the first, before the second. */
export type Days = { readonly from: string; readonly to: string }

export type PeriodRow = { value: string; period: string; n: number; units: number; amount: string }

/** True where refunds are series of their own. Elsewhere they change amounts only. */
export const hasRefunds = (by: string): boolean => by === 'kind' || by === 'status'

/**
 * Returns the counted sums by value and period. Values beyond the `most` costliest are added up as `other`.
 * @param kind null: every kind
 */
export const periods = (
  sql: Sql,
  account: string,
  { by, step, kind, days }: { by: UsageDimension; step: UsageStep; kind: UsageKind | null; days: Days },
  most: number,
) => sql.many<PeriodRow>`
  with found as materialized (
    select value, day, amount,
      case when kind <> 'sms_refund' or ${hasRefunds(by)} then n else 0 end as n,
      case when kind <> 'sms_refund' or ${hasRefunds(by)} then units else 0 end as units
    from usage_days
    where account_id = ${account} and by = ${by} and day >= ${days.from}::date and day < ${days.to}::date
      and (${kind}::text is null or kind = ${kind})
  ), ranked as (
    select value, row_number() over (order by sum(amount) desc, sum(n) desc, value) as place from found group by value
  )
  select case when place <= ${most} then value else 'other' end as value,
    to_char(date_trunc(${step}, day), 'YYYY-MM-DD') as period,
    sum(n)::bigint as n, sum(units)::bigint as units, sum(amount)::text as amount
  from found join ranked using (value) group by 1, 2`

/** Returns the sums of counted adjustments by kind. */
export const adjustments = (sql: Sql, account: string, days: Days) =>
  sql.many<Pick<DaySum, 'kind' | 'n' | 'units' | 'amount'>>`
  select kind, sum(n)::bigint as n, sum(units)::bigint as units, sum(amount)::text as amount from usage_days
  where account_id = ${account} and by = 'adjustment' and day >= ${days.from}::date and day < ${days.to}::date
  group by kind order by kind`

/** Returns the platform's time. */
export const now = async (sql: Sql): Promise<Date> => (await sql.one<{ now: Date }>`select app_now() as now`).now

/** Makes the transaction see one state of the database. Must be its first statement. */
export const beginSnapshot = (tx: Tx) => tx.run`set transaction isolation level repeatable read, read only`
