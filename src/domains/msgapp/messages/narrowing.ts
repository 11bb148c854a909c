import type { Sql } from '../../../platform/db/sql.ts'
import { isHidden, type Narrowing, visibleSql } from '../../inbox/narrowing/ops.ts'

// Which conversation of the inbox a chat belongs to: of its group, of its number, or of the network's id that it had
// before the number was known.

/** Expressions of the counterparts of a row of msgapp_chats. */
const partsOf = (chat: string): string =>
  `'WAG' || ${chat}.group_id, ${chat}.number, 'remote:' || ${chat}.channel_id || ':' || coalesce(${chat}.remote_id, ${chat}.peer)`

/** The condition that a reader may see a row of msgapp_chats. @param user placeholder */
export const visibleChatSql = (chat: string, user: string): string =>
  visibleSql(`array[${partsOf(chat)}]`, `${chat}.account_id`, user)

/** The condition that a reader may see a row of msgapp_messages. @param user placeholder */
export const visibleMessageSql = (message: string, user: string): string =>
  visibleSql(
    `array(select unnest(array[${partsOf('h')}]) from msgapp_chats h
      where h.account_id = ${message}.account_id and h.channel_id = ${message}.channel_id and h.peer = ${message}.peer)`,
    `${message}.account_id`,
    user,
  )

/** True if a reader may not see the chat of a channel with a peer. */
export const isHiddenChat = async (
  sql: Sql,
  narrowing: Narrowing | null,
  channel: string,
  peer: string,
): Promise<boolean> => {
  if (narrowing === null) return false
  const { account, user } = narrowing
  const found = await sql.raw(
    `select 1 from msgapp_chats h where h.account_id = $1 and h.channel_id = $2 and h.peer = $3
      and not (${visibleChatSql('h', '$4')})`,
    [account, channel, peer, user],
  )
  return found.length > 0
}

/** True if a reader may not see a group. @param group id without prefix */
export const isHiddenGroup = (sql: Sql, narrowing: Narrowing | null, group: string): Promise<boolean> =>
  isHidden(sql, narrowing, [`WAG${group}`])
