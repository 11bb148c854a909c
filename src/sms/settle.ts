import type { Sql } from '../db/sql.ts'
import { announce } from '../events/ops.ts'
import { uuid } from '../lib/id.ts'
import type { Taken } from './submit.ts'

/** A text whose parts carriers took; `taken` is its only part where that is not written down yet. */
export type Sent = { id: string; account: string; fence: number; taken: Taken | null }

type Row = { what: 'ended' | 'told'; account_id: string; id: string }

/**
 * Ends the jobs of texts that were sent, by one statement with all that follows from it: see migrations/0019_sms_speed.sql.
 * @returns the ids of those whose fence held
 */
export const settleSent = async (sql: Sql, sent: readonly Sent[]): Promise<Set<string>> => {
  const rows = await sql.many<Row>`
    select what, account_id, id from sms_settle(
      ${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ fence }) => fence)}::integer[],
      ${sent.map(({ account }) => account)}::uuid[], ${sent.map(({ taken }) => taken?.connection ?? null)}::uuid[],
      ${sent.map(({ taken }) => taken?.carrierId ?? null)}::text[], ${sent.map(() => uuid())}::uuid[])`
  const ended = new Set<string>()
  const told: { account: string; webhook: string }[] = []
  for (const { what, account_id, id } of rows)
    if (what === 'ended') ended.add(id)
    else told.push({ account: account_id, webhook: id })
  announce(
    told,
    sent.map(({ account }) => account),
  )
  return ended
}
