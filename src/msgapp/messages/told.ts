import type { Tx } from '../../db/sql.ts'
import { type Event, record } from '../../events/ops.ts'
import { iso } from '../../lib/clock.ts'
import * as rows from './rows.ts'
import { type MessageRow, type Surroundings, shownMessage } from './shown.ts'

/** Events of messages are told in the order of their conversation. */
const conversationOf = (row: MessageRow): string => `${row.channel_id} ${row.peer}`

/** Something to tell of a message. */
export type Told = {
  readonly account: string
  readonly message: string
  readonly name: Event['name']
  /** As the message stood at that moment: later ones may have come in between. */
  readonly ack?: number
  readonly more?: { readonly [key: string]: unknown }
}

/** Tells of messages, in the transaction of what happened to them and in the order given; `created_at` without a zone, as
 *  receivers of these events parse it (completions.md part 1). */
export const tell = async (tx: Tx, surroundings: Surroundings, told: readonly Told[]): Promise<void> => {
  if (told.length === 0) return
  const [accounts, ids] = [new Set(told.map(({ account }) => account)), new Set(told.map(({ message }) => message))]
  const found = await rows.byId(tx, [...accounts], [...ids])
  const around = await surroundings(tx, found)
  const known = new Map(found.map((row) => [row.id, row]))
  const events = told.flatMap(({ message, name, ack, more }): Event[] => {
    const row = known.get(message)
    if (!row) return []
    const shown = shownMessage(ack === undefined ? row : { ...row, ack }, around)
    const { read_at, ...unread } = shown
    return [
      {
        account: row.account_id,
        name,
        channel: row.channel_id,
        conversation: conversationOf(row),
        payload: {
          ...(shown.read ? shown : unread),
          created_at: iso(row.created_at).slice(0, -1),
          ...more,
        },
      },
    ]
  })
  await record(tx, events)
}

/** What is told of a message as its acknowledgement rises: each step once, and in order. */
export const steps = (account: string, message: string, from: number, to: number): Told[] => {
  const names: readonly (readonly [Event['name'], 1 | 2 | 3])[] = [
    ['msgapp.message.new', 1],
    ['msgapp.message.sent', 1],
    ['msgapp.message.receipt.sent', 1],
    ['msgapp.message.receipt.received', 2],
    ['msgapp.message.receipt.read', 3],
  ]
  return names
    .filter(([, level]) => from < level && to >= level)
    .map(([name, ack]) => ({ account, message, name, ack }))
}

/** That a conversation began, or went on after a silence; `since` is the end of what was before, null: nothing was. */
export const begun = (account: string, message: string, since: Date | string | null): Told => ({
  account,
  message,
  name: 'msgapp.conversation.new',
  more: since === null ? {} : { previous_message_at: iso(new Date(since)) },
})
