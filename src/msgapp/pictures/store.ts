import type { Tx } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'

/** Adds to what happened on a channel, of which the newest ten are shown. */
export const note = (tx: Tx, account: string, channel: string, name: string, detail: string) => tx.run`
  insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
  values (${account}, ${channel}, ${uuid()}, ${name}, ${detail.slice(0, 500)}, app_now())`
