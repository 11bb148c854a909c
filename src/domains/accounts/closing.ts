import type { Tx } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import { decimal, type Micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { countOpenCalls } from '../calls/ops.ts'
import { adjust, lockedBalance } from '../ledger/ops.ts'
import { deleteChannels } from '../msgapp/channels/ops.ts'
import { releaseAll } from '../numbers/ops.ts'
import { cancelScheduled } from '../sms/ops.ts'
import { revokeAll } from '../tokens/ops.ts'
import { disableAll } from '../webhooks/ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

export type Closing = {
  readonly reason: string
  /** Whether to write off the remaining balance. */
  readonly writeOff: boolean
  /** Id of the closing operator key, without prefix. */
  readonly by: string | null
}

/** Writes off the remaining balance, positive or negative. @throws Problem 409 without `writeOff` */
const settleBalance = async (tx: Tx, id: string, { reason, writeOff, by }: Closing): Promise<Micros> => {
  const { balance, holds } = await lockedBalance(tx, id)
  if (holds > 0) throw refusals.holdsOpen(holds)
  if (balance === 0) return 0
  if (!writeOff) throw refusals.balanceRemains(decimal(balance))
  await adjust(tx, id, -balance, 'written_off', { kind: 'write_off', note: reason, by })
  return balance
}

/**
 * Closes an account permanently, in one transaction: ends or releases all its resources and keeps its records.
 * @param id of a locked, open account
 * @returns the number of ended resources of each type, and the written-off balance
 * @throws Problem 409 while calls or orders are under way, or a balance remains
 */
export const closeAccount = async (
  tx: Tx,
  { changes, config }: Pick<Services, 'changes' | 'config'>,
  id: string,
  closing: Closing,
) => {
  const calls = await countOpenCalls(tx, id)
  if (calls > 0) throw refusals.callsOpen(print('ACC', id), calls)
  await store.close(tx, id, closing.reason)
  const keys = await store.revokeAll(tx, id)
  const users = await revokeAll(tx, changes, id)
  // First, so that no event of the closing is delivered.
  const webhooks = await disableAll(tx, changes, id)
  const channels = await deleteChannels(tx, id, 'the account was closed')
  const { numbers, reservations } = await releaseAll(tx, changes, id, config.quarantineDays)
  // Lock the balance last, as number renewals do.
  const messages = await cancelScheduled(tx, id)
  const writtenOff = await settleBalance(tx, id, closing)
  for (const topic of ['accounts', 'users', 'msgapp'] as const) await changes.invalidate(tx, topic)
  return { ended: { keys, users, webhooks, messages, channels, numbers, reservations }, writtenOff }
}
