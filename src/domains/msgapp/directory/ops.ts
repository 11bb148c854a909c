import type { Tx } from '../../../platform/db/sql.ts'
import { findChannel } from '../channels/ops.ts'
import { requestOperation } from '../operations/requests.ts'
import { abilitiesOf } from '../runner/drivers.ts'

export const contactOperation = 'contact'

/** An entry of a network's address book; `number` is E.164. */
export type AddressBookEntry = {
  readonly contact: string
  readonly number: string
  readonly firstName: string
  readonly lastName: string
}

/**
 * Requests a contact in a channel's address book; changes of one contact run in order.
 * @returns `not_supported` if the network has no address book, `gone` if the channel was deleted
 */
export const requestContact = async (
  tx: Tx,
  account: string,
  channel: string,
  entry: AddressBookEntry,
): Promise<'queued' | 'not_supported' | 'gone'> => {
  const found = await findChannel(tx, account, channel)
  if (!found) return 'gone'
  const { connection } = found
  if (!(await abilitiesOf(tx, connection)).can('contacts')) return 'not_supported'
  await requestOperation(tx, {
    account,
    connection,
    channel,
    act: contactOperation,
    key: `contact ${entry.contact}`,
    payload: { ...entry },
  })
  return 'queued'
}
