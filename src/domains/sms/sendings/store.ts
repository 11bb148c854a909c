import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { decimal } from '../../../platform/lib/money.ts'
import type { Narrowing } from '../../inbox/narrowing/ops.ts'
import { arrayLiteral, type Refusal, type Status, shortLiteral, type ValidMessage } from '../store.ts'
import type { StoredBatch } from '../submit/batch-store.ts'

/** SQL for sendings: see migrations/20261128T173000_sendings.sql. */

export type SendingState = 'running' | 'paused' | 'canceled' | 'completed'

export type SendingRow = {
  account_id: string
  id: string
  user_id: string | null
  state: SendingState
  refused: number
  price: string
  accepted: number
  created_at: Date
  updated_at: Date
  /** Number and text of the first message. */
  number: string
  text: string
}

/** A batch of a sending, to be stored as a job. */
export type SendingBatch = { readonly id: string; readonly payload: object }

export type NewSending = {
  readonly account: string
  readonly id: string
  /** Id of the person who sends it in a session; null for a key. */
  readonly user: string | null
  /** Messages of the request that were refused before. */
  readonly refused: number
  readonly batches: readonly SendingBatch[]
  readonly messages: readonly ValidMessage[]
}

/** A message that the database refused: its index, and why. */
export type RefusedMessage = { readonly index: number; readonly reason: Refusal }

/** Accepts a sending, in one statement. @returns the refused messages, in order */
export const acceptSending = async (
  sql: Sql,
  { account, id, user, refused, batches, messages }: NewSending,
  honoursOptOut: boolean,
): Promise<RefusedMessage[]> => {
  const texts = messages.map(({ text }) => text)
  const [first] = texts
  const rows = await sql.many<{ n: number; note: RefusedMessage['reason'] }>`
    select n, note from sms_accept_sending(
      ${account}, ${id}, ${user}, ${honoursOptOut}, ${refused}, ${batches.map((batch) => batch.id)}::uuid[],
      ${batches.map(({ payload }) => JSON.stringify(payload))}::jsonb[],
      ${arrayLiteral(messages, (m) => m.id)}::uuid[], ${shortLiteral(messages, (m) => m.channel, String)}::uuid[],
      ${shortLiteral(messages, (m) => m.number, String)}::text[], ${arrayLiteral(messages, (m) => m.contact)}::text[],
      ${texts.every((text) => text === first) ? texts.slice(0, 1) : texts}::text[],
      ${shortLiteral(messages, (m) => m.encoding, String)}::text[],
      ${shortLiteral(messages, (m) => m.fragments, String)}::smallint[],
      ${shortLiteral(messages, (m) => m.price, decimal)}::numeric[],
      ${shortLiteral(messages, (m) => m.decision, String)}::uuid[])`
  return rows.map(({ n, note }) => ({ index: n - 1, reason: note }))
}

/** Condition on the sendings that a reader may see: a narrowed one sees the own ones, a key those of keys. */
const visible = 'user_id is not distinct from ?'

const sendingsOf = (account: string, narrowing: Narrowing | null) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  if (narrowing?.user) conditions.add(visible, narrowing.user)
  else if (narrowing) conditions.push('user_id is null')
  return makeListQuery({ table: 'sms_sendings', key: byTimeAndId(), isNewestFirst: true }, conditions)
}

const columns = `account_id, id, user_id, state, refused, price, cardinality(message_ids) as accepted,
  message_ids[1] as first_id, created_at, updated_at`

const withFirst = (from: string) => `
  select s.*, m.number, m.text from (${from}) s
  cross join lateral (
    select number, text from sms_messages where account_id = s.account_id and id = s.first_id limit 1) m`

/** Returns a page of sendings, newest first. */
export const page = (sql: Sql, account: string, narrowing: Narrowing | null, at: ListPage) => {
  const { text, values } = sendingsOf(account, narrowing).page(`${columns}, ${exactTime('created_at')} as at`, at)
  return sql.raw<SendingRow & { at: string }>(`${withFirst(text)} order by s.created_at desc, s.id desc`, values)
}

/** Counts sendings, up to 10,000. */
export const total = (sql: Sql, account: string, narrowing: Narrowing | null) =>
  countRows(sql, sendingsOf(account, narrowing).total())

/** Finds a sending that a reader may see. */
export const find = async (
  sql: Sql,
  account: string,
  id: string,
  narrowing: Narrowing | null,
): Promise<SendingRow | null> => {
  const text = withFirst(`select ${columns} from sms_sendings where account_id = $1 and id = $2`)
  const [row = null] = await sql.raw<SendingRow>(text, [account, id])
  return row && (narrowing === null || row.user_id === narrowing.user) ? row : null
}

/** The number of messages in each status that occurs. */
export const counts = (sql: Sql, account: string, id: string) => sql.many<{ status: Status; messages: number }>`
  select status, messages from sms_sending_counts(${account}, ${id})`

/** Ids of a sending's messages and jobs. */
export type SendingIds = Pick<SendingRow, 'account_id' | 'id' | 'state'> & { message_ids: string[]; job_ids: string[] }

export const lock = (tx: Tx, account: string, id: string) => tx.maybe<SendingIds>`
  select account_id, id, state, message_ids, job_ids from sms_sendings
  where account_id = ${account} and id = ${id} for update`

/** Locks the sendings of an account that are running or paused. */
export const listOpenSendings = (tx: Tx, account: string) => tx.many<SendingIds>`
  select account_id, id, state, message_ids, job_ids from sms_sendings
  where account_id = ${account} and state in ('running', 'paused') order by id for update`

export const setState = (
  tx: Tx,
  { account_id, id }: Pick<SendingRow, 'account_id' | 'id'>,
  state: SendingState,
) => tx.run`
  update sms_sendings set state = ${state}, updated_at = (select app_now())
  where account_id = ${account_id} and id = ${id}`

/** Due time of the jobs of a paused sending. */
const heldUntil = '9999-01-01T00:00:00Z'

/** Holds the jobs of a sending that no worker has claimed. A claimed one finds out that the sending is paused. */
export const holdJobs = (tx: Tx, { account_id, message_ids, job_ids }: SendingIds) => tx.run`
  update jobs set run_at = ${heldUntil}::timestamptz where id in (
    select id from jobs
    where id = any (${[...job_ids, ...message_ids]}::uuid[]) and account_id = ${account_id} and leased_until is null
    for update skip locked)`

/** Makes the jobs of a sending due that no worker has claimed. */
export const releaseJobs = (tx: Tx, { account_id, message_ids, job_ids }: SendingIds) => tx.run`
  update jobs set run_at = (select app_now()) where id in (
    select id from jobs
    where id = any (${[...job_ids, ...message_ids]}::uuid[]) and account_id = ${account_id} and leased_until is null
      and run_at > (select app_now())
    for update)`

/** Whether a message has a job that runs, or will run by itself. */
export const isWaiting = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql.maybe`select 1 from jobs where id = ${id} and run_at < ${heldUntil}::timestamptz`) !== null

/** Locks the jobs of a sending that no worker has claimed: batches, and own jobs of messages. */
export const lockJobs = (tx: Tx, { account_id, message_ids, job_ids }: SendingIds) => tx.many<
  StoredBatch & { id: string; kind: string }
>`
  select id, account_id as account, kind, payload, created_at as "createdAt" from jobs
  where id = any (${[...job_ids, ...message_ids]}::uuid[]) and account_id = ${account_id} and leased_until is null
  order by id for update skip locked`

export const deleteJobs = (tx: Tx, ids: readonly string[]) => tx.run`delete from jobs where id = any (${ids}::uuid[])`

/** A message of a sending. */
export type SentMessage = { readonly account: string; readonly sending: string; readonly message: string }

/** Returns the state of the sending and the status of each message. */
export const admissions = (sql: Sql, messages: readonly SentMessage[]) => sql.many<{
  state: SendingState
  status: Status | null
}>`
  select coalesce(s.state, 'running') as state, m.status
  from unnest(${messages.map(({ account }) => account)}::uuid[], ${messages.map(({ sending }) => sending)}::uuid[],
    ${messages.map(({ message }) => message)}::uuid[]) with ordinality g (account_id, sending_id, message_id, n)
  left join lateral (
    select state from sms_sendings where account_id = g.account_id and id = g.sending_id limit 1) s on true
  left join lateral (
    select status from sms_messages where account_id = g.account_id and id >= g.message_id and id <= g.message_id
    order by id limit 1) m on true
  order by g.n`

/** Returns the states of sendings. */
export const statesOf = (sql: Sql, sendings: readonly { readonly account: string; readonly id: string }[]) => sql.many<{
  id: string
  state: SendingState
}>`
  select g.id, s.state
  from unnest(${sendings.map(({ account }) => account)}::uuid[], ${sendings.map(({ id }) => id)}::uuid[])
    g (account_id, id)
  cross join lateral (
    select state from sms_sendings where account_id = g.account_id and id = g.id limit 1) s`

/** The last sending that a search examined. */
export type SearchPosition = { readonly account_id: string; readonly id: string }

/** Marks sendings as completed that have nothing left to submit, among the next ones. @returns the last one examined */
export const completeNext = (tx: Tx, from: SearchPosition, many: number) => tx.maybe<
  SearchPosition & { examined: number }
>`
  select account_id, id, examined from sms_complete_sendings(${from.account_id}, ${from.id}, ${many})`
