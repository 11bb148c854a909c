import type { Static } from 'typebox'
import type { sendConversationMessage } from '../../src/domains/inbox/messages/contract.ts'

// Messages that wait to be sent, and their order. Pure, so that it is tested without a browser.

export type MessageBody = Static<(typeof sendConversationMessage)['body']>

/** Why a message was not accepted. */
export type SendRefusal = { readonly status: number; readonly code: string; readonly message: string }

/** A message that was composed here and is not on the server yet, as far as the page knows. */
export type Outgoing = {
  /** Also the Idempotency-Key: sending it twice sends it once. */
  readonly id: string
  readonly account: string
  readonly user: string
  readonly conversation: string
  /** Milliseconds of composing. */
  readonly at: number
  /** Ascends with each message of this browser. */
  readonly place: number
  readonly body: MessageBody
  /** A request was made: the body stays as it was, for the server refuses another under the same key. */
  readonly isTried?: boolean
  /** `expired`: the server has forgotten the key, so the person decides. */
  readonly state: 'waiting' | 'sending' | 'refused' | 'expired'
  readonly refusal?: SendRefusal | undefined
  /** Names and addresses of attached files, for display. */
  readonly file?: { readonly name: string; readonly type: string } | undefined
}

/** Milliseconds for which the server recognises an Idempotency-Key. */
export const keyLife = 24 * 3_600_000

const inOrder = (entries: readonly Outgoing[]): readonly Outgoing[] => [...entries].sort((a, b) => a.place - b.place)

/** Marks what has waited longer than its key lives. */
export const expire = (entries: readonly Outgoing[], now: number): readonly Outgoing[] =>
  entries.map((entry) =>
    entry.state !== 'refused' && entry.state !== 'expired' && now - entry.at >= keyLife
      ? { ...entry, state: 'expired' }
      : entry,
  )

/** The later of two items, by the time in their ids. */
const laterOf = (left: string | undefined, right: string | undefined): string | undefined =>
  left !== undefined && (right === undefined || left.slice(3) > right.slice(3)) ? left : right

type SeenItems = Pick<MessageBody, 'seen' | 'seen_answer'>

/** A message whose author has seen what is stated elsewhere, too. */
export const withSeen = (body: MessageBody, { seen, seen_answer }: SeenItems): MessageBody => {
  const [item, answer] = [laterOf(body.seen, seen), laterOf(body.seen_answer, seen_answer)]
  return { ...body, ...(item ? { seen: item } : {}), ...(answer ? { seen_answer: answer } : {}) }
}

/** The messages of a conversation in their order. */
export const outgoingOf = (entries: readonly Outgoing[], conversation: string): readonly Outgoing[] =>
  inOrder(entries.filter((entry) => entry.conversation === conversation))

/** The next message of a conversation. Messages behind one that the person must decide about wait for that. */
export const nextToSend = (entries: readonly Outgoing[], conversation: string, now: number): Outgoing | undefined => {
  const [first] = outgoingOf(expire(entries, now), conversation)
  return first?.state === 'waiting' || first?.state === 'sending' ? first : undefined
}

/** The meaning of a refusal for its message: it waits for a connection, comes back into the box, or shows the reason. */
export const outcomeOf = ({ status, code }: SendRefusal): 'wait' | 'moved' | 'refused' => {
  if (status === 409 && code === 'conversation_moved') return 'moved'
  // 401: the person signs in again, over the page.
  return status === 0 || status === 401 || status === 408 || status === 429 || status >= 500 ? 'wait' : 'refused'
}

/** True if a colleague, or a program, has answered the person. */
export const isAnswerOfAnother = (
  { direction, user_uuid }: { readonly direction?: string; readonly user_uuid?: string },
  own: string,
): boolean => direction === 'outbound' && (user_uuid === undefined || user_uuid !== own)

/** Milliseconds before the next attempt. */
export const pauseAfter = (failures: number): number => Math.min(15_000, 1_000 * 2 ** failures)

/** The part of an item that identifies its message. */
type SentItem = { readonly uuid: string; readonly text: string | undefined }

/**
 * The messages that are not in the thread yet. The event of a message may arrive before the answer to its request: its
 * item has the same text, is of the same person and newer than what the person had seen.
 */
export const notYetShown = (outgoing: readonly Outgoing[], own: readonly SentItem[]): readonly Outgoing[] => {
  const free = [...own]
  return outgoing.filter(({ state, body }) => {
    if (state !== 'sending') return true
    const seen = (body.seen ?? '').slice(3)
    const found = free.findIndex(({ uuid, text }) => (text ?? '') === (body.text ?? '') && uuid.slice(3) > seen)
    if (found < 0) return true
    free.splice(found, 1)
    return false
  })
}
