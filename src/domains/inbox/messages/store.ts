import type { Sql } from '../../../platform/db/sql.ts'
import type { ItemRow } from '../conversation-store.ts'

/**
 * The newest items of a conversation behind an item that came in, or that another one wrote: answers first, however much
 * came in after them. What a user changed, such as the assignee, answers nobody.
 * @param user whose own items do not count; null: a key, whose items are told from no others
 * @param answer the newest outbound item that the sender has seen: one may be taken in after an inbound item with a later id
 */
export const newerThan = (
  sql: Sql,
  { account, conversation, user }: { account: string; conversation: string; user: string | null },
  { seen, answer }: { seen: string; answer: string },
  limit: number,
) => sql.many<ItemRow>`
  select * from (
    select id, kind, direction, user_id, channel_id, at, change from conversation_items
    where account_id = ${account} and conversation_id = ${conversation}
      and id > least(${seen}::uuid, ${answer}::uuid)
      and (id > ${seen}::uuid or (direction = 'outbound' and id > ${answer}::uuid))
      and kind <> 'change' and (${user}::uuid is null or user_id is distinct from ${user}::uuid)
    order by direction = 'outbound' desc nulls last, id desc limit ${limit}::integer) newer
  order by id desc`
