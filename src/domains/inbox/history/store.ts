import { exactTime } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ItemRef } from '../item-sources.ts'
import { historyStep, searchedChannels } from '../limits.ts'

/** A place in the history. `until` has microseconds: a shorter time would skip what came in the same millisecond. */
export type HistoryPosition = { readonly until: string; readonly id: string }

/**
 * The next account, behind one, whose history is incomplete, or else the next with a conversation that lacks older
 * items; null if there is none.
 */
export const nextAccount = async (sql: Sql, after: string): Promise<string | null> =>
  (
    await sql.one<{ account: string | null }>`
      select coalesce(
        (select account_id from inbox_positions where history_until is not null and account_id > ${after}
         order by account_id limit 1),
        (select account_id from conversations where items_before is not null and account_id > ${after}
         order by account_id limit 1)) as account`
  ).account

/** Takes the turn to take in the history of an account. @returns false while another process has it */
export const takeTurn = async (tx: Tx, account: string): Promise<boolean> =>
  (
    await tx.one<{ taken: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('inbox history ' || ${account}::text, 0)) as taken`
  ).taken

export const position = async (sql: Sql, account: string): Promise<HistoryPosition | null> => {
  const [row] = await sql.raw<HistoryPosition>(
    `select ${exactTime('history_until')} as until, history_id as id from inbox_positions
     where account_id = $1 and history_until is not null`,
    [account],
  )
  return row ?? null
}

/** @param at null: the history is complete */
export const setPosition = (tx: Tx, account: string, at: HistoryPosition | null) => tx.run`
  update inbox_positions set history_until = ${at?.until ?? null}, history_id = ${at?.id ?? null}
  where account_id = ${account}`

const selectBeginnings = `
  select kind, id, ${exactTime('created_at')} as at from (
    (select 'sms' as kind, id, created_at from sms_messages
     where account_id = $1 and direction = 'inbound' and (created_at, id) < ($2::timestamptz, $3::uuid)
     order by created_at desc, id desc limit ${historyStep.rows})
    union all
    (select 'call', id, created_at from calls
     where account_id = $1 and (created_at, id) < ($2::timestamptz, $3::uuid)
     order by created_at desc, id desc limit ${historyStep.rows})
    union all
    (select 'msgapp', m.id, m.created_at from (
       select id from msgapp_channels where account_id = $1 order by id limit ${searchedChannels}) c
     cross join lateral (
       select id, created_at from msgapp_messages
       where account_id = $1 and channel_id = c.id and direction = 'inbound'
         and (created_at, id) < ($2::timestamptz, $3::uuid)
       order by created_at desc, id desc limit ${historyStep.rows}) m
     order by m.created_at desc, m.id desc limit ${historyStep.rows})
  ) found order by created_at desc, id desc limit ${historyStep.rows}`

/** The newest inbound messages, and calls, before a time and id: each may begin a conversation. */
export const beginningsBefore = (sql: Sql, account: string, { until, id }: HistoryPosition) =>
  sql.raw<ItemRef & { at: string }>(selectBeginnings, [account, until, id])

/** The conversations of an account that lack older items, latest activity first. */
export const incomplete = (sql: Sql, account: string, limit: number) => sql.many<{ id: string }>`
  select id from conversations where account_id = ${account} and items_before is not null
  order by last_at desc, id desc limit ${limit}`

/** Accounts that exist, and may have conversations. */
export const accounts = async (sql: Sql): Promise<string[]> =>
  (await sql.many<{ id: string }>`select id from accounts order by id`).map(({ id }) => id)

/** Begins to take in everything again. */
export const restart = async (tx: Tx, account: string): Promise<void> => {
  await tx.run`
    insert into inbox_positions (account_id, floor, unread_after, history_until, history_id)
    values (${account}, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', app_now(),
      'ffffffff-ffff-ffff-ffff-ffffffffffff')
    on conflict (account_id) do update set history_until = excluded.history_until, history_id = excluded.history_id`
  await tx.run`
    update conversations set items_before = 'ffffffff-ffff-ffff-ffff-ffffffffffff' where account_id = ${account}`
}

/** Counts conversations again. No conversation changes meanwhile. */
export const recount = async (tx: Tx, account: string): Promise<void> => {
  await tx.run`lock table conversations in share mode`
  await tx.run`delete from conversation_counts where account_id = ${account}`
  await tx.run`
    insert into conversation_counts (account_id, kind, subject, slot, n)
    select account_id, k.kind, k.subject, 0, count(*) from conversations c
    cross join lateral conversation_count_kinds(c.status, c.assignee_id, c.waiting_since, c.tags) k
    where account_id = ${account} group by account_id, k.kind, k.subject`
}

export const counts = (sql: Sql, account: string) => sql.one<{ conversations: number; incomplete: number }>`
  select count(*)::integer as conversations, (count(*) filter (where items_before is not null))::integer as incomplete
  from conversations where account_id = ${account}`

/** Accounts whose history is incomplete, counted up to a limit. */
export const countPending = async (sql: Sql, most: number): Promise<number> =>
  (
    await sql.one<{ n: number }>`
      select count(*)::integer as n from (
        select from inbox_positions where history_until is not null limit ${most}) p`
  ).n
