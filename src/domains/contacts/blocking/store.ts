import type { Sql } from '../../../platform/db/sql.ts'

/** A number of another party, as an account sees it. `account` is without prefix. */
export type NumberOfAccount = { readonly account: string; readonly number: string }

/** Returns those numbers, in their canonical forms, that a blocked contact of the account has. */
export const blockedAmong = (sql: Sql, candidates: readonly NumberOfAccount[]) => sql.many<NumberOfAccount>`
  select g.account_id as account, g.number
  from unnest(${candidates.map((one) => one.account)}::uuid[], ${candidates.map((one) => one.number)}::text[]) as g (account_id, number)
  where exists (
    select from contact_details d join contacts c on c.account_id = d.account_id and c.id = d.contact_id
    where d.account_id = g.account_id and d.match_key = g.number and c.blocked_at is not null)`
