import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { type Narrowing, visibleSql } from '../../inbox/narrowing/ops.ts'
import type { Keyword } from './keywords.ts'

/** A number of an account and one of its contacts. Opt-outs hold for every form of the contact's number: they are stored
 *  and found by the canonical one. */
export type ContactPair = { account: string; number: string; contact: string }

/** Stands in the column `number` for all numbers of the account. */
export const everyNumber = ''

/** How an opt-out came about: the contact's own word, a request with the API or in the console, a complaint, or a list. */
export const reasons = ['keyword', 'manual', 'complaint', 'import'] as const
export type Reason = (typeof reasons)[number]

export type OptOutRow = {
  id: string
  contact: string
  /** `everyNumber`: all numbers of the account. */
  number: string
  reason: Reason
  /** The word that the contact sent. Null for other reasons, and for words before version 0.3. */
  keyword: string | null
  note: string | null
  created_at: Date
}

const columns = 'id, contact, number, reason, keyword, note, created_at'

/** Stores opt-outs and opt-ins, in the transaction that stores the messages. The last one of a pair counts. An opt-in
 *  lifts the opt-out of that number, whatever its reason. One of all numbers stays: the account made it. */
export const storeKeywords = async (
  tx: Tx,
  received: readonly (ContactPair & { keyword: Keyword | null })[],
): Promise<void> => {
  const last = new Map<string, ContactPair & { keyword: Keyword }>()
  for (const { keyword, ...pair } of received) {
    const contact = canonicalNumber(pair.contact)
    if (keyword !== null && keyword.type !== 'help')
      last.set(`${pair.account} ${pair.number} ${contact}`, { ...pair, contact, keyword })
  }
  // Lock order: docs/locks.md.
  const sorted = [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair)
  const stops = sorted.filter(({ keyword }) => keyword.type === 'stop')
  const starts = sorted.filter(({ keyword }) => keyword.type === 'start')
  if (stops.length > 0)
    await tx.run`
      insert into sms_opt_outs (account_id, id, number, contact, reason, keyword)
      select account_id, id, number, contact, 'keyword', keyword
      from unnest(${stops.map((p) => p.account)}::uuid[], ${stops.map(() => uuid())}::uuid[],
        ${stops.map((p) => p.number)}::text[], ${stops.map((p) => p.contact)}::text[],
        ${stops.map((p) => p.keyword.word)}::text[]) s (account_id, id, number, contact, keyword)
      on conflict (account_id, contact, number) do nothing`
  if (starts.length > 0)
    await tx.run`
      delete from sms_opt_outs where (account_id, number, contact) in (select * from unnest(
        ${starts.map((p) => p.account)}::uuid[], ${starts.map((p) => p.number)}::text[], ${starts.map((p) => p.contact)}::text[]))`
}

/** Whether messages from the number to the contact are refused.
 *  @param honoursWords whether the words of contacts count, besides what the account added */
export const isOptedOut = async (
  sql: Sql,
  { account, number, contact }: ContactPair,
  honoursWords: boolean,
): Promise<boolean> =>
  (await sql.maybe`
    select 1 from sms_opt_outs
    where account_id = ${account} and contact = ${canonicalNumber(contact)} and number in (${number}, ${everyNumber})
      and (${honoursWords} or reason <> 'keyword') limit 1`) !== null

/** An opt-out that a request adds. */
export type NewOptOut = Pick<OptOutRow, 'contact' | 'number' | 'note'>

/**
 * Adds opt-outs of one account, and leaves those that exist as they are.
 * @param added each pair at most once, in the order of `lockKey` (docs/locks.md)
 * @returns the ids of the new ones
 */
export const add = async (tx: Tx, account: string, reason: Reason, added: readonly NewOptOut[]): Promise<string[]> =>
  (
    await tx.many<{ id: string }>`
      insert into sms_opt_outs (account_id, id, number, contact, reason, note)
      select ${account}, id, number, contact, ${reason}, note
      from unnest(${added.map(() => uuid())}::uuid[], ${added.map((one) => one.number)}::text[],
        ${added.map((one) => canonicalNumber(one.contact))}::text[], ${added.map((one) => one.note)}::text[]) a (id, number, contact, note)
      on conflict (account_id, contact, number) do nothing
      returning id`
  ).map(({ id }) => id)

/** Order in which opt-outs of one account are inserted, the same as that of received words. */
export const lockKey = ({ number, contact }: NewOptOut): string => `${number} ${canonicalNumber(contact)}`

export const byPair = (sql: Sql, { account, number, contact }: ContactPair) => sql.maybe<OptOutRow>`
  select id, contact, number, reason, keyword, note, created_at from sms_opt_outs
  where account_id = ${account} and contact = ${canonicalNumber(contact)} and number = ${number}`

export const byId = (sql: Sql, account: string, id: string) => sql.maybe<OptOutRow>`
  select id, contact, number, reason, keyword, note, created_at from sms_opt_outs
  where account_id = ${account} and id = ${id}`

/** Removes an opt-out. @returns false if another request removed it */
export const remove = async (tx: Tx, account: string, id: string): Promise<boolean> =>
  (await tx.maybe`delete from sms_opt_outs where account_id = ${account} and id = ${id} returning id`) !== null

/** Counts the opt-outs of an account, at most one above a limit. */
export const count = async (tx: Tx, account: string, limit: number): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n
      from (select from sms_opt_outs where account_id = ${account} limit ${limit + 1}::integer) counted`
  ).n

/** Returns those of the numbers that have a channel of the account. */
export const numbersOf = async (sql: Sql, account: string, numbers: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await sql.many<{ phone_number: string }>`
        select phone_number from sms_channels
        where account_id = ${account} and phone_number = any (${numbers}::text[])`
    ).map(({ phone_number }) => phone_number),
  )

export type Filter = {
  contact: string | null
  /** A number of the account: those that hold for it, by name or for all numbers. */
  number: string | null
  reason: Reason | null
  since: Date | null
  narrowing: Narrowing | null
}

/** The opt-outs of an account, newest first. A contact has few; the other filters examine 10,000 rows for a page. */
const listOf = (account: string, { contact, number, reason, since, narrowing }: Filter) => {
  const conditions = makeConditions()
  // The first is served by the primary key, the second by the index of the list.
  conditions.add(contact === null ? 'account_id::text = ?' : 'account_id = ?::uuid', account)
  conditions.add('contact = ?', contact === null ? null : canonicalNumber(contact))
  conditions.add('created_at >= ?', since)
  const filters = [
    ...(number === null ? [] : [{ text: `examined.number in (?, '${everyNumber}')`, value: number }]),
    ...(reason === null ? [] : [{ text: 'examined.reason = ?', value: reason }]),
    ...(narrowing === null
      ? []
      : [{ text: visibleSql('array[examined.contact]', 'examined.account_id', '?'), value: narrowing.user }]),
  ]
  const source = { table: 'sms_opt_outs', key: byTimeAndId(), isNewestFirst: true }
  return makeListQuery(source, conditions, [], { filters })
}

type RowKey = { time: string; id: string }

/** Returns a page, with the last row that was examined if the page is short and more may follow. */
export const page = async (sql: Sql, account: string, filter: Filter, at: ListPage) => {
  const list = listOf(account, filter)
  const { text, values } = list.page(`${columns}, ${exactTime('created_at')} as at`, at)
  const rows = await sql.raw<OptOutRow & { at: string }>(text, values)
  const isShort = at.limit !== null && rows.length < at.limit && at.skip === 0
  const last = isShort ? list.lastExamined(at.after) : null
  const [examined = null] = last === null ? [] : await sql.raw<RowKey>(last.text, last.values)
  return { rows, examined }
}

/** Counts the matches, up to 10,000; with a filter, among the newest 10,000 rows.
 *  @param after key that precedes the list */
export const pageTotal = async (sql: Sql, account: string, filter: Filter, after: readonly string[] | null) => {
  const list = listOf(account, filter)
  const last = list.lastExamined(after)
  const [total, more] = await Promise.all([
    countRows(sql, list.total(after)),
    last === null ? [] : sql.raw(last.text, last.values),
  ])
  return { total, isCut: more.length > 0 }
}
