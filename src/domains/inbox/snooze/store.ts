import type { Tx } from '../../../platform/db/sql.ts'
import type { ConversationRow } from '../conversation-row.ts'

/** Condition of a schedule: a snooze ends. */
export const hasDueSnooze = "exists (select from conversations where status = 'snoozed' and snoozed_until <= app.now)"

/** Locks snoozed conversations whose time has come, of all accounts. Those that others hold follow later. */
export const lockDue = (tx: Tx, limit: number) => tx.many<ConversationRow>`
  select * from conversations where status = 'snoozed' and snoozed_until <= (select app_now())
  order by snoozed_until, account_id, id limit ${limit}::integer for update skip locked`
