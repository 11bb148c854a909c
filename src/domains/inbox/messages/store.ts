import type { Sql } from '../../../platform/db/sql.ts'
import type { ItemRow } from '../conversation-store.ts'

/**
 * The newest items of a conversation behind an item that came in, or that another one wrote: answers first, however much
 * came in after them. What a user changed, such as the assignee, answers nobody.
 * @param user whose own items do not count; null: a key, whose items are told from no others
 */
export const newerThan = (
  sql: Sql,
  account: string,
  conversation: string,
  seen: string,
  user: string | null,
  limit: number,
) => sql.many<ItemRow>`
  select * from (
    select id, kind, direction, user_id, channel_id, at, change from conversation_items
    where account_id = ${account} and conversation_id = ${conversation} and id > ${seen}
      and kind <> 'change' and (${user}::uuid is null or user_id is distinct from ${user}::uuid)
    order by direction = 'outbound' desc nulls last, id desc limit ${limit}::integer) newer
  order by id desc`
