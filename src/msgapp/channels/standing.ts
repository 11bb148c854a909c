import type { ChatLineState, ChatProof } from '../../connectors/chat-port.ts'
import type { Tx } from '../../db/sql.ts'
import { record } from '../../events/ops.ts'
import { uuid } from '../../lib/id.ts'
import type { Seal } from '../../lib/secret.ts'
import * as links from './links.ts'
import { shownStatus } from './shown.ts'
import type { Phase } from './store.ts'

/** What a phone scans, or types, while a line is paired; `until` in Unix milliseconds. */
export type Pairing = Pick<ChatLineState, 'qr' | 'code' | 'until'>

/** How a link comes to stand. */
export type Turn = { channel: string; phase: Phase; reason: string; pairing?: Pairing | null; proof?: ChatProof }

/** The names that the interface gives to what happens to a link (completions.md part 8). */
const names: { readonly [phase in Phase]: string } = {
  connecting: 'initializing',
  pairing: 'qr-received',
  connected: 'ready',
  disconnected: 'disconnected',
  failed: 'failed',
}

const sealedPairing = (seal: Seal | null, { channel, phase, pairing }: Turn): Buffer | null =>
  seal && phase === 'pairing' && pairing
    ? seal.closeBytes(Buffer.from(JSON.stringify(pairing)), `msgapp/${channel}/pairing`)
    : null

/** What `turn` sealed. */
export const openPairing = (seal: Seal, channel: string, sealed: Buffer): Pairing =>
  // Our own, as it was sealed above.
  JSON.parse(seal.openBytes(sealed, `msgapp/${channel}/pairing`).toString('utf8')) as Pairing

/**
 * Turns links, writes a line of each and tells of it, in one transaction with its cause; what stands so already is left.
 * @param seal null when none of them comes to be paired
 * @param holder the process that writes, by its lease: nothing is written once that has ended; null for what needs none
 * @param turns of each channel at most one
 */
export const turn = async (tx: Tx, seal: Seal | null, holder: links.Holder, turns: readonly Turn[]): Promise<void> => {
  if (turns.length === 0) return
  const rows = await links.change(
    tx,
    holder,
    turns.map((one) => ({
      channel: one.channel,
      phase: one.phase,
      reason: one.reason.slice(0, 500),
      name: names[one.phase],
      id: uuid(),
      pairing: sealedPairing(seal, one),
      proof: one.proof ?? 'none',
    })),
  )
  await record(
    tx,
    rows
      // A new code to scan is no other state.
      .filter(({ before, phase }) => before !== phase)
      .map((row) => ({
        account: row.account_id,
        name: 'msgapp.number.status',
        channel: row.id,
        conversation: row.id,
        payload: shownStatus(row),
      })),
  )
}

/** Turns the links whose process fell silent. */
export const turnSilent = async (tx: Tx, seal: Seal): Promise<void> => {
  const rows = await links.silent(tx)
  const reasonOf = (gone: boolean) =>
    gone ? 'the process that ran it is gone' : 'the process that runs it does not answer'
  await turn(
    tx,
    seal,
    null,
    rows.map(({ channel_id, gone }) => ({ channel: channel_id, phase: 'disconnected', reason: reasonOf(gone) })),
  )
}

/** Turns what an owner before left of a connection: nothing of it stands any more. */
export const turnLeft = async (
  tx: Tx,
  seal: Seal,
  holder: { connection: string; owner: string },
  reason: string,
): Promise<void> => {
  const rows = await links.left(tx, holder.connection)
  await turn(
    tx,
    seal,
    holder,
    rows.map(({ channel_id }) => ({ channel: channel_id, phase: 'disconnected', reason })),
  )
}
