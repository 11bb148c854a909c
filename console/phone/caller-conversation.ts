import { api } from '../api/client.ts'
import { newIdempotencyKey, requestContext } from '../api/send.ts'
import type { EndedCall, PhoneCall } from '../shell/phone-state.ts'

type Party = Pick<PhoneCall | EndedCall, 'number'>

const found = new Map<string, Promise<string>>()

/** True if calls with the other side belong to a conversation: not those between colleagues. */
export const hasConversation = ({ number }: Party): boolean => /^\+\d{7,15}$/.test(number)

/** Returns the conversation with the other side of a call. */
export const conversationOf = ({ number }: Party): Promise<string> => {
  // Accounts have conversations of their own with a number.
  const key = `${requestContext.account} ${number}`
  const known = found.get(key)
  if (known) return known
  const begun = api('POST /open/conversations', { body: { number } }, { idempotencyKey: newIdempotencyKey() }).then(
    ({ conversation }) => conversation.uuid,
  )
  found.set(key, begun)
  begun.catch(() => found.delete(key))
  return begun
}
