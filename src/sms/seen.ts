import { createHash } from 'node:crypto'
import type { Tx } from '../db/sql.ts'
import type { CarrierInbound } from './inbound.ts'

/**
 * What a carrier sends again. It does so when the answer to a deliver_sm never reached it: the link was cut, or we were
 * killed, after the text was committed. SMPP gives inbound texts no id, so a text is known again by its content: the same
 * words between the same numbers, within ten minutes, over another link than the first time, of which nothing shows that it
 * went on for long after it (for then its answer had arrived, and a person wrote the same twice). A part of a long text
 * is known by its reference too, over whichever link.
 */

/** The life of a link in which an answer is surely through. */
const throughSeconds = 10

const fingerprintOf = ({ source, destination, text, concat }: CarrierInbound): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([source, destination, text, concat]))
    .digest()
    .subarray(0, 16)

type Known = { n: number; link: string; is_recent: boolean; lived_on: boolean }

/** Gives the messages that did not come before, and remembers them. */
export const unseen = async (tx: Tx, messages: readonly CarrierInbound[]): Promise<CarrierInbound[]> => {
  // A carrier may say the same twice over one link in one moment: those are two.
  const distinct = new Map<string, CarrierInbound>()
  const keyOf = (message: CarrierInbound) => message.connection + fingerprintOf(message).toString('base64')
  const keys = messages.map(keyOf)
  for (const [i, message] of messages.entries()) distinct.set(keys[i] ?? '', message)
  // In one order, so that two batches cannot wait for each other.
  const rows = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, message]) => ({ key, message }))

  const connections = rows.map(({ message }) => message.connection)
  const prints = rows.map(({ message }) => fingerprintOf(message))
  const links = rows.map(({ message }) => message.link ?? '')
  const fresh = await tx.run`
    insert into sms_inbound_seen (connection_id, fingerprint, link, received_at)
    select g.*, (select app_now())
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) as g
    on conflict do nothing`
  if (fresh === rows.length) return withoutRepeatedParts(messages, keys)

  const known = await tx.many<Known>`
    select g.n::integer - 1 as n, s.link, s.received_at > app_now() - interval '10 minutes' as is_recent, exists (
      select from sms_inbound_seen o
      where o.link = s.link and o.connection_id = s.connection_id
        and o.received_at > s.received_at + make_interval(secs => ${throughSeconds})) as lived_on
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) with ordinality as g (connection_id, fingerprint, link, n)
    join sms_inbound_seen s using (connection_id, fingerprint)
    where s.received_at < app_now() or s.link <> g.link
    order by g.n for update of s`
  const again = new Set<string>()
  for (const { n, link, is_recent, lived_on } of known) {
    const row = rows[n]
    if (!row || !is_recent) continue
    const isElsewhere = !lived_on && link !== (row.message.link ?? '')
    if (row.message.concat !== null || isElsewhere) again.add(row.key)
  }
  await tx.run`
    update sms_inbound_seen s set link = g.link, received_at = app_now()
    from unnest(${connections}::uuid[], ${prints}::bytea[], ${links}::text[]) as g (connection_id, fingerprint, link)
    where s.connection_id = g.connection_id and s.fingerprint = g.fingerprint and s.received_at < app_now()`
  return withoutRepeatedParts(
    messages.filter((_, i) => !again.has(keys[i] ?? '')),
    keys.filter((key) => !again.has(key)),
  )
}

/** Of parts that came twice in one batch, one. */
const withoutRepeatedParts = (messages: readonly CarrierInbound[], keys: readonly string[]): CarrierInbound[] =>
  messages.filter(({ concat }, i) => concat === null || keys.indexOf(keys[i] ?? '') === i)

/** Forgets what can no longer be a repetition. */
export const forgetSeen = (tx: Tx) => tx.run`
  delete from sms_inbound_seen where received_at < app_now() - interval '20 minutes'`
