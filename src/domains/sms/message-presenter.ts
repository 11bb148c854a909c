import type { Sql, Tx } from '../../platform/db/sql.ts'
import { iso, seconds } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { dollars, micros } from '../../platform/lib/money.ts'
import { type Event, record } from '../events/ops.ts'
import { maxCachedSetupIds } from './limits.ts'
import * as store from './store.ts'

type Row = Omit<store.MessageRow, 'at' | 'send_at' | 'media_ids'> & {
  send_at?: Date | null
  media?: readonly store.PresentedFile[]
}

/** Maps a message to its form in the API. */
export const presentMessage = (row: Row) => {
  const outbound = row.direction === 'outbound'
  return {
    uuid: print(outbound ? 'SMO' : 'SMI', row.id),
    destination: outbound ? row.contact : row.number,
    source: outbound ? row.number : row.contact,
    text: row.text,
    direction: row.direction,
    ...(row.media && row.media.length > 0 ? { media: [...row.media] } : {}),
    ...(outbound ? { fragments: row.fragments } : {}),
    price: dollars(micros(row.price) ?? 0),
    voip_number_setup_id: row.voip_number_setup_id,
    status: row.status,
    ...(row.sub_status ? { sub_status: row.sub_status } : {}),
    ...(row.error_code ? { error_code: row.error_code } : {}),
    ...(row.send_at ? { send_at: iso(row.send_at) } : {}),
    ...(row.sending_id ? { sending_uuid: print('SND', row.sending_id) } : {}),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    timestamp: seconds(row.created_at),
  }
}

/** Cached setup ids (the public ids of virtual numbers) by SMS channel; they never change. */
const setupIdsByChannel = new Map<string, number>()

const reloadSetups = (sql: Sql, rows: readonly store.EventRow[]): Promise<void> => {
  setupIdsByChannel.clear()
  return loadSetups(sql, rows)
}

const loadSetups = async (sql: Sql, rows: readonly store.EventRow[]): Promise<void> => {
  const unknown = rows.filter(({ channel_id }) => !setupIdsByChannel.has(channel_id))
  if (unknown.length === 0) return
  if (setupIdsByChannel.size >= maxCachedSetupIds) return reloadSetups(sql, rows)
  for (const { id, voip_number_setup_id } of await store.setupIds(sql, unknown))
    setupIdsByChannel.set(id, voip_number_setup_id)
}

const eventNameOf = ({ status }: store.EventRow): Event['name'] => {
  if (status === 'received') return 'sms.message.received'
  if (status === 'sent' || status === 'delivered') return `sms.message.${status}`
  return 'sms.message.failed'
}

/** Publishes events of messages that were received, sent, delivered or failed, in the transaction of the change.
 *  `created_at` has no zone, as receivers of these events parse it. */
export const publishEvents = async (tx: Tx, rows: readonly store.EventRow[]): Promise<void> => {
  if (rows.length === 0) return
  await loadSetups(tx, rows)
  await record(
    tx,
    rows.map((row) => ({
      account: row.account_id,
      name: eventNameOf(row),
      channel: row.channel_id,
      conversation: `${row.channel_id} ${row.contact}`,
      payload: {
        ...presentMessage({ ...row, voip_number_setup_id: setupIdsByChannel.get(row.channel_id) ?? 0 }),
        created_at: iso(row.created_at).slice(0, -1),
        channel_uuid: print('SMS', row.channel_id),
      },
    })),
  )
}
