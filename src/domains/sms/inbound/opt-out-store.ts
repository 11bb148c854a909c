import type { Sql, Tx } from '../../../platform/db/sql.ts'

/** A number of an account and one of its contacts. */
export type ContactPair = { account: string; number: string; contact: string }

/** Opt-out keywords by carrier rules and custom (CTIA Messaging Principles, 5.1.3; keywords that large providers
 *  honour). The whole text must be the keyword. YES does not lift an opt-out: it answers too many other questions. */
const stopKeywords: ReadonlySet<string> = new Set([
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
const startKeywords: ReadonlySet<string> = new Set(['START', 'UNSTOP', 'OPTIN', 'OPT IN'])
const helpKeywords: ReadonlySet<string> = new Set(['HELP', 'INFO'])

/** Returns the keyword type of a text, or null. Ignores letter case, surrounding spaces and punctuation at the end. */
export const keywordOf = (text: string): 'stop' | 'start' | 'help' | null => {
  // Longer texts cannot be a keyword.
  if (text.length > 40) return null
  const word = text
    .trim()
    .replace(/[.!"'\s]+$|^["'\s]+/g, '')
    .replace(/[\s-]+/g, ' ')
    .toUpperCase()
  if (stopKeywords.has(word)) return 'stop'
  if (startKeywords.has(word)) return 'start'
  return helpKeywords.has(word) ? 'help' : null
}

/** Stores opt-outs and opt-ins, in the transaction that stores the messages. The last one of a pair counts. */
export const storeOptOuts = async (
  tx: Tx,
  wishes: readonly (ContactPair & { wish: 'stop' | 'start' | 'help' | null })[],
) => {
  const last = new Map<string, ContactPair & { wish: 'stop' | 'start' }>()
  for (const { wish, ...pair } of wishes)
    if (wish === 'stop' || wish === 'start')
      last.set(`${pair.account} ${pair.number} ${pair.contact}`, { ...pair, wish })
  // Lock order: docs/locks.md.
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

/** Whether the contact has opted out of messages from the number. */
export const isOptedOut = async (sql: Sql, { account, number, contact }: ContactPair): Promise<boolean> =>
  (await sql.maybe`
    select 1 from sms_opt_outs where account_id = ${account} and number = ${number} and contact = ${contact}`) !== null
