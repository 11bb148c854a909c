import type { Tx } from '../../platform/db/sql.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { type Event, record } from '../events/ops.ts'
import { type Notice, requestNotices, withdrawNotices } from '../push/ops.ts'
import type { ConversationRow } from './conversation-row.ts'
import { presentShared } from './presenter.ts'

/** An event of a conversation to publish. */
export type ConversationEvent = {
  readonly name: Extract<Event['name'], `conversation.${string}`>
  readonly row: ConversationRow
  /** The user who caused it; null for keys and the platform. */
  readonly by: string | null
  readonly more?: { readonly [key: string]: unknown }
}

/** Publishes events of conversations of an account in the given order, in the transaction of their cause. */
export const publishConversations = async (
  tx: Tx,
  account: string,
  events: readonly ConversationEvent[],
  isBulk = false,
): Promise<void> => {
  if (events.length === 0) return
  const rows = [...new Map(events.map(({ row }) => [row.id, row])).values()]
  const presented = new Map((await presentShared(tx, account, rows)).map((one) => [one.uuid, one]))
  await record(
    tx,
    events.map(({ name, row, by, more }) => ({
      account,
      name,
      channel: null,
      conversation: `inbox ${row.id}`,
      payload: {
        ...presented.get(print('CNV', row.id)),
        ...(by === null ? {} : { by_user_uuid: print('USR', by) }),
        ...more,
      },
    })),
    isBulk,
  )
  await withdrawNotices(
    tx,
    account,
    rows.filter(({ status, waiting_since }) => status !== 'open' || waiting_since === null).map(({ id }) => id),
  )
  await requestNotices(tx, account, events.flatMap(mentionNotice))
}

/** The notice to those whom a new note mentions. Its author needs none. */
const mentionNotice = ({ name, row, by, more }: ConversationEvent): Notice[] => {
  // The payload of this event has the note: src/event-payloads.ts.
  const note = name === 'conversation.note.created' ? Object(more?.item).note : null
  if (!note) return []
  const mentions: string[] = note.mentions ?? []
  const users = mentions.flatMap((printed) => parse('USR', printed) ?? []).filter((user) => user !== by)
  return [{ kind: 'mention', subject: row.id, item: parse('NTE', note.uuid) ?? row.last_item, users }]
}
