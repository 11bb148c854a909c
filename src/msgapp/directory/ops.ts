import type { Tx } from '../../db/sql.ts'
import { print } from '../../lib/id.ts'
import { ask } from '../asking.ts'
import { channelOf } from '../channels/ops.ts'
import { ableOf } from '../drivers.ts'

export const contactAct = 'contact'

/** A contact as an address book of the network keeps it; `number` is E.164. */
export type Entry = {
  readonly contact: string
  readonly number: string
  readonly firstName: string
  readonly lastName: string
}

/** Has a contact kept on the account of a channel, one change of it after the other. @returns false when its network has no address book */
export const keepContact = async (tx: Tx, account: string, channel: string, entry: Entry): Promise<boolean> => {
  const { connection } = await channelOf(tx, account, print('WPN', channel))
  if (!(await ableOf(tx, connection)).can('contacts')) return false
  await ask(tx, {
    account,
    connection,
    channel,
    act: contactAct,
    key: `contact ${entry.contact}`,
    payload: { ...entry },
  })
  return true
}
