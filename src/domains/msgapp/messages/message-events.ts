import type { Tx } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { type Event, record } from '../../events/ops.ts'
import { type MessageRow, presentMessage, type ViewContextLoader } from './message-presenter.ts'
import * as rows from './message-query-store.ts'

/** Order key: events of messages are delivered in the order of their conversation. */
const orderKeyOf = (row: MessageRow): string => `${row.channel_id} ${row.peer}`

/** An event of a message to publish. */
export type MessageEvent = {
  readonly account: string
  readonly message: string
  readonly name: Event['name']
  /** The acknowledgement at that moment; later ones may have followed. */
  readonly ack?: number
  readonly more?: { readonly [key: string]: unknown }
}

/**
 * Publishes events of messages, in the transaction of their cause and in the given order. `created_at` has no zone,
 * as receivers of these events parse it (completions.md part 1).
 */
export const publishEvents = async (
  tx: Tx,
  loadViewContext: ViewContextLoader,
  messageEvents: readonly MessageEvent[],
): Promise<void> => {
  if (messageEvents.length === 0) return
  const accounts = new Map(messageEvents.map(({ account, message }) => [message, account]))
  const found = await rows.byId(
    tx,
    [...accounts].map(([id, account]) => ({ account, id })),
  )
  const context = await loadViewContext(tx, found)
  const known = new Map(found.map((row) => [row.id, row]))
  const payloads = new Map<string, Event['payload']>()
  /** A message that was sent has three events with one payload. */
  const payloadOf = (row: MessageRow): Event['payload'] => {
    const key = `${row.id} ${row.ack}`
    const cached = payloads.get(key)
    if (cached) return cached
    const presented = presentMessage(row, context)
    const { read_at, ...unread } = presented
    const payload = { ...(presented.read ? presented : unread), created_at: iso(row.created_at).slice(0, -1) }
    payloads.set(key, payload)
    return payload
  }
  const events = messageEvents.flatMap(({ message, name, ack, more }): Event[] => {
    const row = known.get(message)
    if (!row) return []
    const payload = payloadOf(ack === undefined ? row : { ...row, ack })
    return [
      {
        account: row.account_id,
        name,
        channel: row.channel_id,
        conversation: orderKeyOf(row),
        payload: more ? { ...payload, ...more } : payload,
      },
    ]
  })
  await record(tx, events)
}

/** Returns the events of a rising acknowledgement: each step once, and in order. */
export const ackEvents = (account: string, message: string, from: number, to: number): MessageEvent[] => {
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

/**
 * Returns the event of a conversation that began, or continued after a silence. `since` is the end of the previous
 * messages; null if there were none.
 */
export const conversationEvent = (account: string, message: string, since: Date | string | null): MessageEvent => ({
  account,
  message,
  name: 'msgapp.conversation.new',
  more: since === null ? {} : { previous_message_at: iso(new Date(since)) },
})
