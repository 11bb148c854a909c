import type { Sql, Tx } from '../db/sql.ts'
import { type Event, record } from '../events/ops.ts'
import { iso, seconds } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import { dollars, micros } from '../lib/money.ts'
import * as store from './store.ts'

type Row = Omit<store.MessageRow, 'at' | 'send_at'> & { send_at?: Date | null }

/** A message as the interface prints it (interface.md 2.13). */
export const shownMessage = (row: Row) => {
  const outbound = row.direction === 'outbound'
  return {
    uuid: print(outbound ? 'SMO' : 'SMI', row.id),
    destination: outbound ? row.contact : row.number,
    source: outbound ? row.number : row.contact,
    text: row.text,
    direction: row.direction,
    ...(outbound ? { fragments: row.fragments } : {}),
    price: dollars(micros(row.price) ?? 0),
    voip_number_setup_id: row.voip_number_setup_id,
    status: row.status,
    ...(row.sub_status ? { sub_status: row.sub_status } : {}),
    ...(row.error_code ? { error_code: row.error_code } : {}),
    ...(row.send_at ? { send_at: iso(row.send_at) } : {}),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    timestamp: seconds(row.created_at),
  }
}

/** The public numbers of virtual numbers by SMS channel: they never change. */
const setups = new Map<string, number>()
const mostSetups = 100_000

const learnAnew = (sql: Sql, rows: readonly store.EventRow[]): Promise<void> => {
  setups.clear()
  return learnSetups(sql, rows)
}

const learnSetups = async (sql: Sql, rows: readonly store.EventRow[]): Promise<void> => {
  const unknown = rows.filter(({ channel_id }) => !setups.has(channel_id))
  if (unknown.length === 0) return
  if (setups.size >= mostSetups) return learnAnew(sql, rows)
  for (const { id, voip_number_setup_id } of await store.setupIds(sql, unknown)) setups.set(id, voip_number_setup_id)
}

const nameOf = ({ status }: store.EventRow): Event['name'] => {
  if (status === 'received') return 'sms.message.received'
  if (status === 'sent' || status === 'delivered') return `sms.message.${status}`
  return 'sms.message.failed'
}

/** Tells the accounts of messages that came, were sent, were delivered or failed, in the transaction that made them so.
 *  `created_at` without a zone, as receivers of these events parse it (completions.md part 1). */
export const tell = async (tx: Tx, rows: readonly store.EventRow[]): Promise<void> => {
  if (rows.length === 0) return
  await learnSetups(tx, rows)
  await record(
    tx,
    rows.map((row) => ({
      account: row.account_id,
      name: nameOf(row),
      channel: row.channel_id,
      conversation: `${row.channel_id} ${row.contact}`,
      payload: {
        ...shownMessage({ ...row, voip_number_setup_id: setups.get(row.channel_id) ?? 0 }),
        created_at: iso(row.created_at).slice(0, -1),
        channel_uuid: print('SMS', row.channel_id),
      },
    })),
  )
}
