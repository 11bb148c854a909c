import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'

/** Logs a channel event; the newest ten are kept. */
export const logEvent = (tx: Tx, account: string, channel: string, name: string, detail: string) => tx.run`
  with noted as (
    insert into msgapp_link_events (account_id, channel_id, id, name, detail, at)
    values (${account}, ${channel}, ${uuid()}, ${name}, ${detail.slice(0, 500)}, app_now())
  )
  delete from msgapp_link_events e using (
    select id from (
      select id, row_number() over (order by id desc) as place from msgapp_link_events
      where account_id = ${account} and channel_id = ${channel}) listed
    where place > 9
  ) o
  where e.account_id = ${account} and e.channel_id = ${channel} and e.id = o.id`
