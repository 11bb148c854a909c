import type { Sql } from '../db/sql.ts'

// SQL of events whose deliveries are made later: see migrations/0046_quotas.sql.

const start = '00000000-0000-0000-0000-000000000000'

/** Accounts with events in the backlog. */
export const behind = async (sql: Sql, most: number): Promise<string[]> =>
  (await sql.many<{ account: string }>`select events_behind(${start}, ${most}) as account`).map(
    ({ account }) => account,
  )

type Pace = { readonly rate: number; readonly burst: number; readonly most: number }

/** Makes deliveries of an account's events that wait. @returns the webhooks that have something to tell, and the seconds until
 *  more may be made; null when nothing waits */
export const fanOut = async (sql: Sql, account: string, { rate, burst, most }: Pace) => {
  const rows = await sql.many<{ webhook_id: string | null; wait: number | null }>`
    select webhook_id, wait from events_fan_out(${account}, ${rate}::float8, ${burst}::float8, ${most})`
  return {
    webhooks: rows.flatMap(({ webhook_id }) => webhook_id ?? []),
    wait: rows.find(({ webhook_id }) => webhook_id === null)?.wait ?? null,
  }
}
