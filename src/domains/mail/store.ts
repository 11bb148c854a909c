import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

export type MailState = 'queued' | 'sent' | 'failed'

type NewRow = {
  id: string
  account: string | null
  recipient: string
  recipientKey: string
  template: string
  sealed: Buffer
}

export const add = (tx: Tx, m: NewRow) => tx.run`
  insert into mails (id, account_id, recipient, recipient_key, template, sealed_values)
  values (${m.id}, ${m.account}, ${m.recipient}, ${m.recipientKey}, ${m.template}, ${m.sealed})`

/** Counts the mails of an account within 24 h, of these templates. Further ones wait for the end of the
 *  transaction. */
export const countOfAccount = async (
  tx: Tx,
  account: string,
  templates: readonly string[],
  limits: { readonly trial: number; readonly paid: number },
): Promise<{ sent: number; most: number }> => {
  await tx.run`select pg_advisory_xact_lock(hashtextextended('mails of ' || ${account}::text, 0))`
  return tx.one<{ sent: number; most: number }>`
    select (
        select count(*) from mails
        where account_id = ${account} and created_at > app_now() - interval '24 hours' and template = any (${templates}::text[])
      )::integer as sent,
      case when on_trial then ${limits.trial}::integer else ${limits.paid}::integer end as most
    from accounts where id = ${account}`
}

/** Counts the mails of a template to a mailbox within an hour and within 24 h, as above. */
export const countOfRecipient = async (
  tx: Tx,
  m: { readonly account: string | null; readonly recipientKey: string; readonly template: string },
): Promise<{ hour: number; day: number }> => {
  await tx.run`select pg_advisory_xact_lock(hashtextextended('mails to ' || ${m.recipientKey}::text, 0))`
  return tx.one<{ hour: number; day: number }>`
    select count(*) filter (where created_at > app_now() - interval '1 hour')::integer as hour, count(*)::integer as day
    from mails
    where recipient_key = ${m.recipientKey} and template = ${m.template} and account_id is not distinct from ${m.account}::uuid
      and created_at > app_now() - interval '24 hours'`
}

export type QueuedRow = { id: string; recipient: string; template: string; sealed_values: Buffer }

/** Returns a mail that is still to be sent. */
export const findQueued = (sql: Sql, id: string) => sql.maybe<QueuedRow>`
  select id, recipient, template, sealed_values from mails
  where id = ${id} and state = 'queued' and sealed_values is not null`

/** Notes an attempt after which another one follows. */
export const noteAttempt = (sql: Sql, id: string, attempts: number, outcome: string) => sql.run`
  update mails set attempts = ${attempts}, outcome = ${outcome} where id = ${id} and state = 'queued'`

type EndedMail = { id: string; state: 'sent' | 'failed'; attempts: number; outcome: string }

/** Ends mails, and erases their values. */
export const end = (tx: Tx, mails: readonly EndedMail[]) => tx.run`
  update mails m set state = e.state, attempts = e.attempts, outcome = e.outcome, sealed_values = null, ended_at = app_now()
  from unnest(${mails.map(({ id }) => id)}::uuid[], ${mails.map(({ state }) => state)}::text[],
    ${mails.map(({ attempts }) => attempts)}::integer[], ${mails.map(({ outcome }) => outcome)}::text[])
    e (id, state, attempts, outcome)
  where m.id = e.id and m.state = 'queued'`

/** Ends mails that no process has sent for hours, and erases their values. */
export const endForgotten = (tx: Tx, hours: number) => tx.run`
  update mails set state = 'failed', sealed_values = null, ended_at = app_now(),
    outcome = coalesce(outcome, 'No process with a mail server has run')
  where state = 'queued' and created_at < app_now() - make_interval(hours => ${hours})`

export const deleteOlder = (tx: Tx, days: number) => tx.run`
  delete from mails where created_at < app_now() - make_interval(days => ${days}) and state <> 'queued'`

export type MailRow = {
  id: string
  account_id: string | null
  recipient: string
  template: string
  state: MailState
  attempts: number
  outcome: string | null
  created_at: string
  ended_at: Date | null
}

/** Returns a page of mails, newest first. */
export const page = (
  sql: Sql,
  { state, recipientKey }: { readonly state: MailState | null; readonly recipientKey: string | null },
  start: ListPage,
): Promise<MailRow[]> => {
  const conditions = makeConditions()
  conditions.add('state = ?', state)
  conditions.add('recipient_key = ?', recipientKey)
  const { text, values } = makeListQuery({ table: 'mails', key: byTimeAndId(), isNewestFirst: true }, conditions).page(
    '*',
    start,
  )
  return sql.raw<MailRow>(
    `select id, account_id, recipient, template, state, attempts, outcome, ${exactTime('m.created_at')} as created_at,
       ended_at from (${text}) m order by m.created_at desc, m.id desc`,
    values,
  )
}

/** Counts the mails that wait, and those that failed within 24 h. */
export const counts = (sql: Sql) => sql.one<{ queued: number; failed: number }>`
  select (select count(*) from (
      select from mails where state = 'queued' order by created_at limit 10000) q)::integer as queued,
    (select count(*) from (
      select from mails where state = 'failed' and created_at > app_now() - interval '24 hours' limit 10000) f)::integer as failed`
