import { createHash } from 'node:crypto'
import type { Tx } from '../../../platform/db/sql.ts'
import { linkResponseSeconds } from '../limits.ts'
import type { CarrierInbound } from './carrier-inbound.ts'

/**
 * Detects messages that a carrier delivers again. A carrier repeats a message whose response it never got: the link
 * was lost, or the process was killed, after the commit. Inbound messages may have no id, so content identifies a
 * duplicate. A duplicate has the same text between the same numbers, within ten minutes, over another link than the
 * first. The first link must not have lived on for long after the first delivery. Otherwise the response had arrived,
 * and a person wrote the same text twice. The reference identifies a part of a long message, too, over any link. So does
 * the id of a carrier that has one.
 */

const fingerprintOf = ({ source, destination, text, concat, id }: CarrierInbound): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([source, destination, text, concat, ...(id === undefined ? [] : [id])]))
    .digest()
    .subarray(0, 16)

type KnownFingerprint = { n: number; link: string; is_recent: boolean; lived_on: boolean }

/** Returns the messages that are no duplicates, and records their fingerprints. */
export const withoutDuplicates = async (tx: Tx, messages: readonly CarrierInbound[]): Promise<CarrierInbound[]> => {
  // The same text twice over one link in one batch is two messages.
  const distinct = new Map<string, CarrierInbound>()
  const keyOf = (message: CarrierInbound) => message.connection + fingerprintOf(message).toString('base64')
  const keys = messages.map(keyOf)
  for (const [i, message] of messages.entries()) distinct.set(keys[i] ?? '', message)
  // Lock order: docs/locks.md.
  const rows = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, message]) => ({ key, message }))

  const connections = rows.map(({ message }) => message.connection)
  const prints = rows.map(({ message }) => fingerprintOf(message))
  const links = rows.map(({ message }) => message.link ?? '')
  const fresh = await tx.run`
    insert into sms_inbound_fingerprints (connection_id, fingerprint, link, received_at)
    select g.*, (select app_now())
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) as g
    on conflict do nothing`
  if (fresh === rows.length) return withoutRepeatedParts(messages, keys)

  const known = await tx.many<KnownFingerprint>`
    select g.n::integer - 1 as n, s.link, s.received_at > app_now() - interval '10 minutes' as is_recent, exists (
      select from sms_inbound_fingerprints o
      where o.link = s.link and o.connection_id = s.connection_id
        and o.received_at > s.received_at + make_interval(secs => ${linkResponseSeconds})) as lived_on
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) with ordinality as g (connection_id, fingerprint, link, n)
    join sms_inbound_fingerprints s using (connection_id, fingerprint)
    where s.received_at < app_now() or s.link <> g.link
    order by g.n for update of s`
  const again = new Set<string>()
  for (const { n, link, is_recent, lived_on } of known) {
    const row = rows[n]
    if (!row || !is_recent) continue
    const isElsewhere = !lived_on && link !== (row.message.link ?? '')
    if (isIdentified(row.message) || isElsewhere) again.add(row.key)
  }
  await tx.run`
    update sms_inbound_fingerprints s set link = g.link, received_at = app_now()
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) as g (connection_id, fingerprint, link)
    where s.connection_id = g.connection_id and s.fingerprint = g.fingerprint and s.received_at < app_now()`
  return withoutRepeatedParts(
    messages.filter((_, i) => !again.has(keys[i] ?? '')),
    keys.filter((key) => !again.has(key)),
  )
}

/** Whether the content of a message is certain to be of one message. */
const isIdentified = ({ concat, id }: CarrierInbound): boolean => concat !== null || id !== undefined

/** Removes messages that are certainly repeated within a batch. */
const withoutRepeatedParts = (messages: readonly CarrierInbound[], keys: readonly string[]): CarrierInbound[] =>
  messages.filter((message, i) => !isIdentified(message) || keys.indexOf(keys[i] ?? '') === i)

/** Deletes fingerprints that can no longer match a duplicate. */
export const deleteOldFingerprints = (tx: Tx) => tx.run`
  delete from sms_inbound_fingerprints where received_at < app_now() - interval '20 minutes'`
