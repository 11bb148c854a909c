import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Replay } from '../delivery/delivery-log-store.ts'
import { maxReplayCount, maxReplayExamined } from '../limits.ts'

// SQL of replays: their progress, and the number of events that one would send.

export type ReplayRow = {
  since: Date
  until: Date
  resends_all: boolean
  sent: number
  reached_at: Date | null
  started_at: Date
  finished_at: Date | null
}

/** Records a replay as the newest of its webhook. */
export const begin = (
  tx: Tx,
  { account, webhook, replay }: { account: string; webhook: string; replay: string },
  { since, until, all }: { since: Date; until: Date; all: boolean },
) => tx.one<ReplayRow>`
  insert into webhook_replays as r (account_id, webhook_id, id, since, until, resends_all, started_at)
  select ${account}, ${webhook}, ${replay}, ${since}::timestamptz, ${until}::timestamptz, ${all}::boolean, app_now()
  on conflict (account_id, webhook_id) do update set
    id = excluded.id, since = excluded.since, until = excluded.until, resends_all = excluded.resends_all, sent = 0,
    reached_at = null, started_at = excluded.started_at, finished_at = null
  returning *`

/** Adds a page to the progress. No-op for a replay that is not the newest. */
export const advance = (
  tx: Tx,
  { account, webhook, replay = null }: { account: string; webhook: string; replay?: string | null },
  { sent, reached, isDone }: { sent: number; reached: Date | null; isDone: boolean },
) => tx.run`
  update webhook_replays set sent = sent + ${sent}::integer, reached_at = coalesce(${reached}::timestamptz, reached_at),
    finished_at = case when ${isDone} then (select app_now()) end
  where account_id = ${account} and webhook_id = ${webhook} and id = ${replay}::uuid`

export const find = (sql: Sql, account: string, webhook: string) => sql.maybe<ReplayRow>`
  select since, until, resends_all, sent, reached_at, started_at, finished_at from webhook_replays
  where account_id = ${account} and webhook_id = ${webhook}`

/**
 * Counts the events that a replay would send, as `replayPage` selects them. Reads along the key of the events.
 * @returns at most one more than `maxReplayCount`; `hasMore`: not all events of the window were examined
 */
export const count = (
  sql: Sql,
  r: Pick<Replay, 'account' | 'webhook' | 'after' | 'all'> & { since: Date; until: Date },
) => sql.one<{ count: number; has_more: boolean }>`
  with last as materialized (
    select id from (
      select id from events where account_id = ${r.account} and id > ${r.after} order by id
      limit ${maxReplayExamined}::integer
    ) e order by id desc limit 1
  ), following as materialized (
    select e.created_at from last l cross join lateral (
      select created_at from events where account_id = ${r.account} and id > l.id order by id limit 1) e
  )
  select (
    select count(*)::integer from (
      select from (
        select * from events where account_id = ${r.account} and id > ${r.after} order by id
        limit ${maxReplayExamined}::integer
      ) e
      join webhooks w on w.account_id = e.account_id and w.id = ${r.webhook} and w.event = e.name
      left join webhook_deliveries d on d.account_id = e.account_id and d.webhook_id = w.id and d.event_id = e.id
      where e.webhook_id is null
        and e.created_at >= ${r.since}::timestamptz and e.created_at < ${r.until}::timestamptz
        and (${r.all}::boolean or e.created_at >= w.created_at)
        and (w.match_id is null or w.match_id = e.channel_id)
        and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
        and (e.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
          or (e.payload ->> 'previous_message_at')::timestamptz <= e.created_at - make_interval(secs => w.quiet_seconds))
        and (d.state is null or d.state = 'failed' or (${r.all}::boolean and d.state = 'delivered'))
      limit ${maxReplayCount + 1}::integer) f
  ) as count, exists (select from following where created_at < ${r.until}::timestamptz) as has_more`
