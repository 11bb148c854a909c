import type { Tx } from '../../../platform/db/sql.ts'
import type { ConversationRow } from '../conversation-row.ts'
import { closedAtOnce } from '../limits.ts'

/**
 * Locks open conversations of all accounts that wait for no answer and have had no item for as many days as their
 * account wants, the oldest first. Those that others hold follow later.
 */
export const lockIdle = (tx: Tx) => tx.many<ConversationRow>`
  select c.* from accounts a
  cross join lateral (
    select id from conversations
    where account_id = a.id and status = 'open' and waiting_since is null
      and last_at < (select app_now()) - make_interval(days => a.close_after_days)
    order by last_at, id limit ${closedAtOnce.account}::integer) idle
  join conversations c on c.account_id = a.id and c.id = idle.id
  where a.close_after_days is not null and a.closed_at is null
  limit ${closedAtOnce.all}::integer for update of c skip locked`
