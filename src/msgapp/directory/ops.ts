import type { Tx } from '../../db/sql.ts'
import { ask } from '../asking.ts'
import { findChannel } from '../channels/ops.ts'
import { ableOf } from '../drivers.ts'

export const contactAct = 'contact'

/** A contact as an address book of the network keeps it; `number` is E.164. */
export type Entry = {
  readonly contact: string
  readonly number: string
  readonly firstName: string
  readonly lastName: string
}

/** Has a contact kept on the account of a channel, one change of it after the other.
 *  @returns `not_supported` when its network has no address book, `gone` when the channel was deleted */
export const keepContact = async (
  tx: Tx,
  account: string,
  channel: string,
  entry: Entry,
): Promise<'queued' | 'not_supported' | 'gone'> => {
  const found = await findChannel(tx, account, channel)
  if (!found) return 'gone'
  const { connection } = found
  if (!(await ableOf(tx, connection)).can('contacts')) return 'not_supported'
  await ask(tx, {
    account,
    connection,
    channel,
    act: contactAct,
    key: `contact ${entry.contact}`,
    payload: { ...entry },
  })
  return 'queued'
}
