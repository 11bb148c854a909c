import { numberForms } from '@trunkline/phone/number-forms.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import { refusals } from '../refusals.ts'

/**
 * Returns the SQL condition that a user sent a message in the inbox. A scalar subquery: the planner probes two indexes for
 * each row that a page reads.
 * @param account @param counterpart @param message @param user expressions, such as columns and placeholders
 */
export const sentBySql = (account: string, counterpart: string, message: string, user: string): string =>
  `(select true from conversations v
    join conversation_items i on i.account_id = v.account_id and i.conversation_id = v.id
    where v.account_id = ${account} and v.counterpart = canonical_number(${counterpart}) and i.id = ${message}
      and i.user_id = ${user}::uuid limit 1) is not null`

/** How the events of a conversation and of its counterpart are recorded: see `conversation` of events/ops.ts. */
export type ConversationEvents = {
  /** Keys of the conversation itself, and of a person whose number is hidden. */
  readonly keys: readonly string[]
  /** The part of a key behind the channel: a contact of SMS, or a peer of the messaging app. */
  readonly peers: readonly string[]
  /** The other number of its calls, in its canonical form. */
  readonly counterpart: string
}

const hiddenForm = /^remote:([0-9a-f-]{36}):(.*)$/s

/**
 * Returns how the events of a conversation are recorded, for readers of the whole log: agents who see only some
 * conversations are none.
 * @throws Problem 404 that names the filter
 */
export const conversationEvents = async (sql: Sql, account: string, printed: string): Promise<ConversationEvents> => {
  const id = parse('CNV', printed)
  const row =
    id &&
    (await sql.maybe<{ counterpart: string; group_id: string | null }>`
      select counterpart, group_id from conversations where account_id = ${account} and id = ${id}`)
  if (!row) return refuse(refusals.unknownConversation(printed).at('conversation'))
  const { counterpart, group_id: group } = row
  const keys = [`inbox ${id}`]
  if (group !== null) {
    const chats = await sql.many<{ peer: string }>`
      select c.peer from msgapp_groups g
      join msgapp_chats c on c.account_id = g.account_id and c.channel_id = g.channel_id and c.group_id = g.id
      where g.account_id = ${account} and g.id = ${group}`
    return { keys, counterpart, peers: chats.map(({ peer }) => peer) }
  }
  const [, channel, remote] = hiddenForm.exec(counterpart) ?? []
  if (channel !== undefined)
    return { keys: [...keys, `${channel} ${remote}`, `call ${remote}`], counterpart, peers: [] }
  const forms = numberForms(counterpart)
  return { keys, counterpart, peers: forms.flatMap((form) => [form, `${form.replace(/^\+/, '')}@c.us`]) }
}
