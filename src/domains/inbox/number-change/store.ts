import type { Tx } from '../../../platform/db/sql.ts'
import type { ConversationRow } from '../conversation-row.ts'

/** Takes another locked conversation into one: see `conversations_join` in the migrations. */
export const join = (tx: Tx, account: string, own: string, other: string) => tx.run`
  select conversations_join(${account}, ${own}, ${other})`

/** Gives a conversation another number. Its name follows, if it was the number or there is a contact. */
export const setNumber = (
  tx: Tx,
  account: string,
  id: string,
  to: { readonly number: string; readonly contact: string | null; readonly name: string | null },
) => tx.one<ConversationRow>`
  update conversations set counterpart = ${to.number}, number = null, version = version + 1,
    contact_id = coalesce(${to.contact}::uuid, contact_id),
    name = coalesce(${to.name}::text, case when name = counterpart then ${to.number} else name end)
  where account_id = ${account} and id = ${id} returning *`
