import type { Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import * as store from './store.ts'

/** A number of the messaging app that calls may show, once it has been connected. */
export const addChannelCallerId = async (
  tx: Tx,
  account: string,
  { channel, number, name, country }: { channel: string; number: string; name: string; country: string },
): Promise<void> => {
  await store.keep(tx, {
    account_id: account,
    id: uuid(),
    msgapp_channel_id: channel,
    phone_number: number,
    friendly_name: name,
    iso_country_code: country,
    type: 'WW',
  })
}

/** The channel was deleted. */
export const removeChannelCallerId = (tx: Tx, account: string, channel: string): Promise<void> =>
  store.remove(tx, account, { channel })
