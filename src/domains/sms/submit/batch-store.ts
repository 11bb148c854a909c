import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { notifyRecorded } from '../../events/ops.ts'
import { type BatchMember, type BatchPayload, readBatchPayload, submissionOf } from '../batch.ts'
import { submitKind } from './message-slots.ts'
import type { AcceptedPart, Submission } from './submit-handler.ts'

/** SQL for batches and their messages: see migrations/baseline/12_sms_functions.sql. */

/** The job of a batch, as far as its messages depend on it. */
export type StoredBatch = { readonly account: string | null; readonly payload: BatchPayload; readonly createdAt: Date }

/** Returns for each batch the messages that are still to be submitted. */
export const openMembers = async (sql: Sql, batches: readonly StoredBatch[]): Promise<BatchMember[][]> => {
  const listed = batches.map(({ payload }) => readBatchPayload(payload))
  const ids = listed.flatMap((one) => [...one.keys()])
  const accounts = batches.flatMap(({ account }, i) => Array<string | null>(listed[i]?.size ?? 0).fill(account))
  const rows = await sql.many<{ id: string; number: string; contact: string; text: string }>`
    select id, number, contact, text from sms_batch_messages(${accounts}::uuid[], ${ids}::uuid[])`
  const open = new Map(rows.map((row) => [row.id, row]))
  return listed.map((one, i) =>
    [...one].flatMap(([id, long]) => {
      const row = open.get(id)
      if (!row) return []
      const payload = submissionOf(row.number, row.contact, row.text, long)
      const sending = batches[i]?.payload.sending
      return [{ id, payload: sending === undefined ? payload : { ...payload, sending } }]
    }),
  )
}

/** A batch as leased to this process. */
export type LeasedBatch = { readonly id: string; readonly fence: number }

/** A message of a batch that a carrier accepted; `taken` is its only part if that is not stored, not even as submitted. */
export type SentMember = { id: string; account: string; batch: LeasedBatch; taken: AcceptedPart | null }

/** Lock order of messages (docs/locks.md). */
const byMessage = (a: SentMember, b: SentMember) =>
  (a.account === b.account ? a.id < b.id : a.account < b.account) ? -1 : 1
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

/**
 * Marks messages as sent, and ends batches.
 * @param isFinal whether all messages of a batch have ended with this statement
 * @returns the ids of the batches whose fence held
 */
export const completeBatches = async <Member extends SentMember>(
  sql: Sql,
  members: readonly Member[],
  isFinal: (batch: Member['batch']) => boolean,
): Promise<Set<string>> => {
  const sent = members.toSorted(byMessage)
  const batches = [...new Set(sent.map(({ batch }) => batch))].sort(byId)
  const positions = new Map(batches.map((batch, i) => [batch, i + 1]))
  const rows = await sql.many<{ what: 'held' | 'webhook'; account_id: string | null; id: string | null }>`
    select what, account_id, id from sms_complete_batches(
      ${batches.map(({ id }) => id)}::uuid[], ${batches.map(({ fence }) => fence)}::integer[],
      ${batches.map(isFinal)}::boolean[], ${sent.map(({ batch }) => positions.get(batch) ?? 0)}::integer[],
      ${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ account }) => account)}::uuid[],
      ${sent.map(({ taken }) => taken?.connection ?? null)}::uuid[],
      ${sent.map(({ taken }) => taken?.carrierId ?? null)}::text[], ${sent.map(() => uuid())}::uuid[])`
  const held = new Set<string>()
  const announced: { account: string; webhook: string | null }[] = []
  for (const { what, account_id, id } of rows)
    if (what === 'held' && id !== null) held.add(id)
    else if (account_id !== null) announced.push({ account: account_id, webhook: id })
  notifyRecorded(
    announced,
    sent.map(({ account }) => account),
  )
  return held
}

/** Locks batches, in the order of their ids, so that no other process claims them before the commit.
 *  @returns the ids of the batches whose fence held */
export const lockBatches = async (tx: Tx, batches: readonly LeasedBatch[]): Promise<Set<string>> => {
  const sorted = batches.toSorted(byId)
  const rows = await tx.many<{ id: string }>`
    select j.id from unnest(${sorted.map(({ id }) => id)}::uuid[], ${sorted.map(({ fence }) => fence)}::integer[])
      with ordinality g (id, fence, n)
    cross join lateral (select id from jobs where id = g.id and fence = g.fence limit 1 for update) j
    order by g.n`
  return new Set(rows.map(({ id }) => id))
}

/** A message that leaves its batch for a job of its own. */
export type SplitMember = {
  readonly id: string
  readonly account: string
  /** Kind of the job. */
  readonly kind: string
  readonly payload: Submission
  /** Time of acceptance. */
  readonly createdAt: Date
  /** Seconds until the job is due; null: since the time of acceptance. */
  readonly seconds: number | null
  readonly error: string | null
  /** Attempts that count so far. */
  readonly attempts: number
  readonly waitsFor: string | null
}

/** Gives messages jobs of their own. A job that exists is left alone, and a message that has ended gets none: this
 *  statement may be a repetition whose first answer was lost. */
export const splitOff = (tx: Tx, members: readonly SplitMember[]) => tx.run`
  insert into jobs (id, account_id, kind, payload, run_at, created_at, attempts, last_error, waits_for)
  select g.id, g.account_id, g.kind, g.payload::jsonb,
    coalesce((select app_now()) + make_interval(secs => g.seconds), g.created_at), g.created_at, g.attempts, g.error, g.waits_for
  from unnest(
    ${members.map(({ id }) => id)}::uuid[], ${members.map(({ account }) => account)}::uuid[],
    ${members.map(({ payload }) => JSON.stringify(payload))}::text[],
    ${members.map(({ seconds }) => seconds)}::double precision[], ${members.map(({ createdAt }) => createdAt)}::timestamptz[],
    ${members.map(({ attempts }) => attempts)}::integer[], ${members.map(({ error }) => error)}::text[],
    ${members.map(({ waitsFor }) => waitsFor)}::text[], ${members.map(({ kind }) => kind)}::text[]
  ) as g (id, account_id, payload, seconds, created_at, attempts, error, waits_for, kind)
  cross join lateral (
    select status from sms_messages where account_id = g.account_id and id >= g.id and id <= g.id order by id limit 1) m
  where m.status in ('queued', 'sending')
  on conflict (id) do nothing`

/** Gives all messages of batches that are still to be submitted jobs of their own, due at once. The caller ends the
 *  batches in the same transaction. */
export const splitBatches = async (tx: Tx, batches: readonly StoredBatch[]): Promise<void> => {
  if (batches.length === 0) return
  const open = await openMembers(tx, batches)
  const members = batches.flatMap(({ account, createdAt }, i) =>
    account === null
      ? []
      : (open[i] ?? []).map((member) => ({
          ...member,
          account,
          kind: submitKind,
          createdAt,
          seconds: null,
          error: null,
          attempts: 0,
          waitsFor: null,
        })),
  )
  await splitOff(tx, members)
  if (members.length > 0) tx.afterCommit(() => notify(submitKind))
}
