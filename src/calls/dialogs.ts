import type { VoiceDialog } from '../connectors/voice-port.ts'
import type { Sql, Tx } from '../db/sql.ts'

// The SIP dialogs of answered calls, kept against a crash.

export const keep = (tx: Tx, account: string, call: string, dialogs: readonly VoiceDialog[]) => tx.run`
  insert into call_dialogs (account_id, call_id, dialogs) values (${account}, ${call}, ${{ list: dialogs }})
  on conflict do nothing`

export const forget = (tx: Sql, account: string, call: string) => tx.run`
  delete from call_dialogs where account_id = ${account} and call_id = ${call}`

export type Left = { account_id: string; call_id: string; dialogs: { list: VoiceDialog[] } }

/** Those of calls that have ended without their BYE. */
export const left = (db: Sql, limit: number) => db.many<Left>`
  select d.account_id, d.call_id, d.dialogs
  from call_dialogs d join calls c on c.account_id = d.account_id and c.id = d.call_id
  where c.ended_at is not null limit ${limit}`
