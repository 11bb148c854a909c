import type { Sql } from '../../../platform/db/sql.ts'

// SQL of the fan-out backlog: events whose deliveries are created later. See migrations/baseline/08_webhooks.sql.

const start = '00000000-0000-0000-0000-000000000000'

/** Accounts with events in the backlog. */
export const findBacklogged = async (sql: Sql, most: number): Promise<string[]> =>
  (await sql.many<{ account: string }>`select events_backlogged_accounts(${start}, ${most}) as account`).map(
    ({ account }) => account,
  )

type FanOutRate = { readonly rate: number; readonly burst: number; readonly most: number }

/**
 * Creates deliveries for an account's backlogged events.
 * @returns the webhooks that now have deliveries, and the seconds until more may be created (null: nothing left)
 */
export const createDeliveries = async (sql: Sql, account: string, { rate, burst, most }: FanOutRate) => {
  const rows = await sql.many<{ webhook_id: string | null; wait: number | null }>`
    select webhook_id, wait from events_fan_out(${account}, ${rate}::float8, ${burst}::float8, ${most})`
  return {
    webhooks: rows.flatMap(({ webhook_id }) => webhook_id ?? []),
    wait: rows.find(({ webhook_id }) => webhook_id === null)?.wait ?? null,
  }
}
