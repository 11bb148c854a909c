import { closeConversation } from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import { rowBeside } from './list-selection.ts'

/**
 * Closes a conversation, and goes to the next one of the list.
 * @param closes false: a message on its way closes it
 */
export const closeAndNext = async (place: Place, uuid: string, closes = true): Promise<void> => {
  const next = rowBeside(uuid, 1) ?? rowBeside(uuid, -1) ?? ''
  const isInList = place.view !== 'closed'
  if (isInList) place.openConversation(next === uuid ? '' : next)
  if (closes) await closeConversation(uuid)
}
