import type { Sql } from '../db/sql.ts'
import { announce } from '../events/ops.ts'
import { uuid } from '../lib/id.ts'
import type { Taken } from './submit.ts'

/** What happens to most texts, each by one statement with all that follows from it: see migrations/0020_sms_speed.sql. */

/** A text whose parts carriers took; `taken` is its only part where that is not written down yet. */
export type Sent = { id: string; account: string; fence: number; taken: Taken | null }

type Told = { account: string; webhook: string | null }

/** In one order, so that two statements do not wait for each other. */
const byText = (a: Sent, b: Sent) => (a.account + a.id < b.account + b.id ? -1 : 1)

/**
 * Ends the jobs of texts that were sent.
 * @returns the ids of those whose fence held
 */
export const settleSent = async (sql: Sql, ended: readonly Sent[]): Promise<Set<string>> => {
  const sent = ended.toSorted(byText)
  const rows = await sql.many<
    { what: 'ended'; account_id: null; id: string } | { what: 'told'; account_id: string; id: string | null }
  >`
    select what, account_id, id from sms_settle(
      ${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ fence }) => fence)}::integer[],
      ${sent.map(({ account }) => account)}::uuid[], ${sent.map(({ taken }) => taken?.connection ?? null)}::uuid[],
      ${sent.map(({ taken }) => taken?.carrierId ?? null)}::text[], ${sent.map(() => uuid())}::uuid[])`
  const held = new Set<string>()
  const told: Told[] = []
  for (const row of rows)
    if (row.what === 'ended') held.add(row.id)
    else told.push({ account: row.account_id, webhook: row.id })
  announce(
    told,
    sent.map(({ account }) => account),
  )
  return held
}

/** A receipt that says what became of a part for good. */
export type Final = {
  connection: string
  carrierId: string
  status: string
  error: string | null
  /** How the number may end that the message went to (matching.ts). */
  handsets: readonly [string | null, string | null]
}

/**
 * Writes down what final receipts say, where that is simple: of texts of one part that are sent.
 * @param finals with ids as the index has them (matching.ts)
 * @returns the places of those that were written down
 */
export const reportFinals = async (sql: Sql, finals: readonly Final[]): Promise<Set<number>> => {
  const rows = await sql.many<
    { what: 'done'; n: number } | { what: 'told'; n: null; account_id: string; id: string | null }
  >`
    select what, n, account_id, id from sms_report(
      ${finals.map(({ connection }) => connection)}::uuid[], ${finals.map(({ carrierId }) => carrierId)}::text[],
      ${finals.map(({ status }) => status)}::text[], ${finals.map(({ error }) => error)}::text[],
      ${finals.map(() => uuid())}::uuid[], ${finals.map(({ handsets }) => handsets[0])}::text[],
      ${finals.map(({ handsets }) => handsets[1])}::text[])`
  const done = new Set<number>()
  const told: Told[] = []
  for (const row of rows)
    if (row.what === 'done') done.add(row.n - 1)
    else told.push({ account: row.account_id, webhook: row.id })
  announce(
    told,
    told.map(({ account }) => account),
  )
  return done
}
