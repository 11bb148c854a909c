import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { VoiceDialog } from '../../../ports/voice.ts'

// SIP dialogs of answered calls, persisted for a BYE after a crash.

export const saveDialogs = (tx: Tx, account: string, call: string, dialogs: readonly VoiceDialog[]) => tx.run`
  insert into call_dialogs (account_id, call_id, dialogs) values (${account}, ${call}, ${{ list: dialogs }})
  on conflict do nothing`

export const deleteDialogs = (tx: Sql, account: string, call: string) => tx.run`
  delete from call_dialogs where account_id = ${account} and call_id = ${call}`

export type LeftDialogs = { account_id: string; call_id: string; dialogs: { list: VoiceDialog[] } }

/** Returns dialogs of ended calls whose BYE was not sent. */
export const findLeftDialogs = (db: Sql, limit: number) => db.many<LeftDialogs>`
  select d.account_id, d.call_id, d.dialogs
  from call_dialogs d join calls c on c.account_id = d.account_id and c.id = d.call_id
  where c.ended_at is not null limit ${limit}`
