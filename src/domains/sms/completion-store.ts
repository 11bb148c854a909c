import type { Sql } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import { notifyRecorded } from '../events/ops.ts'
import type { AcceptedPart } from './submit/submit-handler.ts'

/** Hot-path statements of sends and receipts, each with all effects in one statement: see
 *  migrations/baseline/12_sms_functions.sql. */

/** A message whose parts carriers accepted; `taken` is its only part if that is not stored yet. */
export type CompletedMessage = { id: string; account: string; fence: number; taken: AcceptedPart | null }

type AnnouncedEvent = { account: string; webhook: string | null }

/** Lock order of messages (docs/locks.md). */
const byMessage = (a: CompletedMessage, b: CompletedMessage) =>
  (a.account === b.account ? a.id < b.id : a.account < b.account) ? -1 : 1

/**
 * Completes the jobs of sent messages.
 * @returns the ids of the jobs whose fence held
 */
export const completeSent = async (sql: Sql, ended: readonly CompletedMessage[]): Promise<Set<string>> => {
  const sent = ended.toSorted(byMessage)
  const rows = await sql.many<
    { what: 'ended'; account_id: null; id: string } | { what: 'webhook'; account_id: string; id: string | null }
  >`
    select what, account_id, id from sms_complete_submits(
      ${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ fence }) => fence)}::integer[],
      ${sent.map(({ account }) => account)}::uuid[], ${sent.map(({ taken }) => taken?.connection ?? null)}::uuid[],
      ${sent.map(({ taken }) => taken?.carrierId ?? null)}::text[], ${sent.map(() => uuid())}::uuid[])`
  const held = new Set<string>()
  const announced: AnnouncedEvent[] = []
  for (const row of rows)
    if (row.what === 'ended') held.add(row.id)
    else announced.push({ account: row.account_id, webhook: row.id })
  notifyRecorded(
    announced,
    sent.map(({ account }) => account),
  )
  return held
}

/** A receipt with a final state. */
export type FinalReceipt = {
  connection: string
  carrierId: string
  status: string
  error: string | null
  /** Possible suffixes of the recipient's number (receipt-correlation.ts). */
  handsets: readonly [string | null, string | null]
}

/**
 * Applies final receipts of sent messages with one part.
 * @param finals with normalised ids (receipt-correlation.ts)
 * @returns the indexes of the applied receipts
 */
export const applyFinalReceipts = async (sql: Sql, finals: readonly FinalReceipt[]): Promise<Set<number>> => {
  const rows = await sql.many<
    { what: 'done'; n: number } | { what: 'webhook'; n: null; account_id: string; id: string | null }
  >`
    select what, n, account_id, id from sms_apply_receipts(
      ${finals.map(({ connection }) => connection)}::uuid[], ${finals.map(({ carrierId }) => carrierId)}::text[],
      ${finals.map(({ status }) => status)}::text[], ${finals.map(({ error }) => error)}::text[],
      ${finals.map(() => uuid())}::uuid[], ${finals.map(({ handsets }) => handsets[0])}::text[],
      ${finals.map(({ handsets }) => handsets[1])}::text[])`
  const done = new Set<number>()
  const announced: AnnouncedEvent[] = []
  for (const row of rows)
    if (row.what === 'done') done.add(row.n - 1)
    else announced.push({ account: row.account_id, webhook: row.id })
  notifyRecorded(
    announced,
    announced.map(({ account }) => account),
  )
  return done
}
