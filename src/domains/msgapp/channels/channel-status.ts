import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { ChatChannelState, ChatProof } from '../../../ports/chat.ts'
import { record } from '../../events/ops.ts'
import { presentStatus } from './channel-presenter.ts'
import * as links from './status-store.ts'
import type { Phase } from './store.ts'

/** Code to scan or type while pairing; `until` in Unix milliseconds. */
export type Pairing = Pick<ChatChannelState, 'qr' | 'code' | 'until'>

/** A status transition of a channel. */
export type Transition = {
  channel: string
  phase: Phase
  reason: string
  pairing?: Pairing | null
  proof?: ChatProof
  /** The channel ends: logged and published even if the phase stays the same. */
  isEnd?: true
}

/** Event names by phase (completions.md part 8). */
const eventNames: { readonly [phase in Phase]: string } = {
  connecting: 'initializing',
  pairing: 'qr-received',
  connected: 'ready',
  disconnected: 'disconnected',
  failed: 'failed',
}

const sealedPairing = (seal: Seal | null, { channel, phase, pairing }: Transition): Buffer | null =>
  seal && phase === 'pairing' && pairing
    ? seal.closeBytes(Buffer.from(JSON.stringify(pairing)), `msgapp/${channel}/pairing`)
    : null

/** Opens the pairing code that `transition` sealed. */
export const openPairing = (seal: Seal, channel: string, sealed: Buffer): Pairing =>
  // Our own JSON, sealed above.
  JSON.parse(seal.openBytes(sealed, `msgapp/${channel}/pairing`).toString('utf8')) as Pairing

/**
 * Applies status transitions, logs and publishes each, in one transaction with its cause. No-ops are skipped.
 * @param seal null if no transition leads to `pairing`
 * @param holder the lease of the writing process: without it nothing is written; null for changes that need no lease
 * @param transitions at most one per channel
 */
export const transition = async (
  tx: Tx,
  seal: Seal | null,
  holder: links.LeaseHolder,
  transitions: readonly Transition[],
): Promise<void> => {
  if (transitions.length === 0) return
  const rows = await links.applyChanges(
    tx,
    holder,
    transitions.map((one) => ({
      channel: one.channel,
      phase: one.phase,
      reason: one.reason.slice(0, 500),
      name: eventNames[one.phase],
      id: uuid(),
      pairing: sealedPairing(seal, one),
      proof: one.proof ?? 'none',
      isEnd: one.isEnd ?? false,
    })),
  )
  const ending = new Set(transitions.filter(({ isEnd }) => isEnd).map(({ channel }) => channel))
  await record(
    tx,
    rows
      // A new pairing code is not a new status.
      .filter(({ id, before, phase }) => before !== phase || ending.has(id))
      .map((row) => ({
        account: row.account_id,
        name: 'msgapp.number.status',
        channel: row.id,
        conversation: row.id,
        payload: presentStatus(row),
      })),
  )
}

/** Disconnects channels whose process stopped responding. */
export const disconnectSilent = async (tx: Tx, seal: Seal): Promise<void> => {
  const rows = await links.findSilent(tx)
  const reasonOf = (gone: boolean) =>
    gone ? 'the process that ran it is gone' : 'the process that runs it does not answer'
  await transition(
    tx,
    seal,
    null,
    rows.map(({ channel_id, gone }) => ({ channel: channel_id, phase: 'disconnected', reason: reasonOf(gone) })),
  )
}

/** Disconnects channels that a previous owner of the connection left. */
export const disconnectLeft = async (
  tx: Tx,
  seal: Seal,
  holder: { connection: string; owner: string },
  reason: string,
): Promise<void> => {
  const rows = await links.findLeftConnected(tx, holder.connection)
  await transition(
    tx,
    seal,
    holder,
    rows.map(({ channel_id }) => ({ channel: channel_id, phase: 'disconnected', reason })),
  )
}
