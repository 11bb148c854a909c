import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import type { CallCommand, CommandOutcome } from '../programs/call-command.ts'

export const addCommand = (tx: Tx, account: string, id: string, call: string, command: CallCommand) => tx.run`
  insert into call_commands (account_id, id, call_id, command)
  values (${account}, ${id}, ${call}, ${JSON.stringify(command)}::text::jsonb)`

export type WaitingCommand = { account_id: string; id: string; call_id: string; command: CallCommand }

/** Claims commands that wait, oldest first. Those of an earlier epoch are claimed again: their process is gone. */
export const claimCommands = (db: Db, epoch: number, limit: number) => db.many<WaitingCommand>`
  with claimed as (
    update call_commands set epoch = ${epoch}
    where (account_id, id) in (
      select account_id, id from call_commands where done_at is null and epoch is distinct from ${epoch}
      order by id limit ${limit} for update skip locked)
    returning account_id, id, call_id, command)
  select * from claimed order by id`

export const answerCommand = (db: Db, account: string, id: string, outcome: CommandOutcome) => db.run`
  update call_commands set outcome = ${JSON.stringify(outcome)}::text::jsonb, done_at = app_now(),
    command = jsonb_build_object('command', command -> 'command')
  where account_id = ${account} and id = ${id} and done_at is null`

/** Returns the outcome of a command; null while there is none. */
export const outcomeOf = async (sql: Sql, account: string, id: string): Promise<CommandOutcome | null> =>
  (
    await sql.maybe<{ outcome: CommandOutcome | null }>`
      select outcome from call_commands where account_id = ${account} and id = ${id}`
  )?.outcome ?? null

/** Removes commands of more than a day ago. */
export const removeOldCommands = (tx: Tx, limit: number) => tx.run`
  delete from call_commands where (account_id, id) in (
    select account_id, id from call_commands where created_at < app_now() - interval '1 day'
    order by created_at limit ${limit})`
