import type { Sql, Tx } from '../db/sql.ts'

/** A number of an account and a contact of it. */
export type Pair = { account: string; number: string; contact: string }

/** What a contact may answer, as carriers' rules and customs have it (CTIA Messaging Principles, 5.1.3; the words that large
 *  providers honour). The whole text must be the word. YES does not lift an opt-out: it answers too many other questions. */
const stop: ReadonlySet<string> = new Set([
  'STOP',
  'STOPALL',
  'STOP ALL',
  'UNSUBSCRIBE',
  'CANCEL',
  'END',
  'QUIT',
  'REVOKE',
  'OPTOUT',
  'OPT OUT',
])
const start: ReadonlySet<string> = new Set(['START', 'UNSTOP', 'OPTIN', 'OPT IN'])
const help: ReadonlySet<string> = new Set(['HELP', 'INFO'])

/** What a text from a contact asks for, or null. Letter case, spaces around it and marks at its end do not matter. */
export const wishOf = (text: string): 'stop' | 'start' | 'help' | null => {
  // Longer texts are no word, and need no look.
  if (text.length > 40) return null
  const word = text
    .trim()
    .replace(/[.!"'\s]+$|^["'\s]+/g, '')
    .replace(/[\s-]+/g, ' ')
    .toUpperCase()
  if (stop.has(word)) return 'stop'
  if (start.has(word)) return 'start'
  return help.has(word) ? 'help' : null
}

/** Keeps what contacts wished, in the transaction that keeps their texts; of several wishes of a pair the last one counts. */
export const keep = async (tx: Tx, wishes: readonly (Pair & { wish: 'stop' | 'start' | 'help' | null })[]) => {
  const last = new Map<string, Pair & { wish: 'stop' | 'start' }>()
  for (const { wish, ...pair } of wishes)
    if (wish === 'stop' || wish === 'start')
      last.set(`${pair.account} ${pair.number} ${pair.contact}`, { ...pair, wish })
  // In one order, so that two batches cannot wait for each other.
  const sorted = [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair)
  const stops = sorted.filter(({ wish }) => wish === 'stop')
  const starts = sorted.filter(({ wish }) => wish === 'start')
  if (stops.length > 0)
    await tx.run`
      insert into sms_opt_outs (account_id, number, contact)
      select * from unnest(${stops.map((p) => p.account)}::uuid[], ${stops.map((p) => p.number)}::text[],
        ${stops.map((p) => p.contact)}::text[])
      on conflict do nothing`
  if (starts.length > 0)
    await tx.run`
      delete from sms_opt_outs where (account_id, number, contact) in (select * from unnest(
        ${starts.map((p) => p.account)}::uuid[], ${starts.map((p) => p.number)}::text[], ${starts.map((p) => p.contact)}::text[]))`
}

/** True when the contact wants no texts from the number. */
export const has = async (sql: Sql, { account, number, contact }: Pair): Promise<boolean> =>
  (await sql.maybe`
    select 1 from sms_opt_outs where account_id = ${account} and number = ${number} and contact = ${contact}`) !== null
