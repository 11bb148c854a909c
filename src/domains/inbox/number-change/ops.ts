import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { lockByCounterpart, putWords } from '../apply-store.ts'
import { publishConversations } from '../conversation-events.ts'
import { addChanges } from '../conversation-store.ts'
import { contactOfNumber } from '../names.ts'
import { nameHashesOf } from '../words.ts'
import * as store from './store.ts'

/**
 * Continues the conversation of a person whose number changed, with a line that says so. A conversation under the new
 * number is taken into it. A repeated report changes nothing.
 * @param before @param number canonical forms
 */
export const changeNumber = async (tx: Tx, account: string, before: string, number: string): Promise<void> => {
  const locked = await lockByCounterpart(tx, account, [before, number])
  const own = locked.find(({ counterpart }) => counterpart === before)
  const other = locked.find(({ counterpart }) => counterpart === number)
  if (!own) return
  if (other) await store.join(tx, account, own.id, other.id)
  const contact = await contactOfNumber(tx, account, number)
  const row = await store.setNumber(tx, account, own.id, {
    number,
    contact: contact?.id ?? null,
    name: contact?.name ?? null,
  })
  const change = { field: 'number', from: before, to: number }
  await addChanges(tx, account, [{ id: uuid(), conversation: own.id, user: null, change }])
  const words = nameHashesOf(account, row.name, number)
  await putWords(tx, account, [{ id: own.id, conversation: own.id, kind: 'name', words }])
  await publishConversations(tx, account, [{ name: 'conversation.updated', row, by: null }])
}
