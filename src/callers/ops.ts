import type { Sql, Tx } from '../db/sql.ts'
import { parse, uuid } from '../lib/id.ts'
import { e164 } from '../lib/phone.ts'
import * as store from './store.ts'

/** What a call may show. Ids without prefix. */
export type Shown = { id: string; number: string; virtual_number_id: string | null }

/**
 * The caller ID that a call shows: the one that is wished, by its number or its printed id, or else a bought number of that
 * country, any bought number, another one that is proved. Null when there is none, or the account may not show it.
 * @param simulated whether a proof within the sandbox is enough, since the call stays there
 */
export const callerIdOf = async (
  sql: Sql,
  account: string,
  wished: string | null,
  country: string,
  simulated = false,
): Promise<Shown | null> => {
  if (wished === null) return await store.usable(sql, account, { country, simulated })
  const id = parse('VCI', wished)
  const number = id ? null : e164(wished)
  return id || number ? await store.usable(sql, account, { ...(id ? { id } : {}), number, country, simulated }) : null
}

/** A number of the messaging app that calls may show, once possession of it is proved. */
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
