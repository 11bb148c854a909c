import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, nextOf, requestedPage } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { makeStoringHandlers } from '../inbound.ts'
import type { ChannelRef, InboundHandlers } from '../inbound-handlers.ts'
import { maxShownContentLength } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { isRejectedData, reasonOf } from './ops.ts'
import * as store from './store.ts'

const most = 100

const presentDeadLetter = (row: store.DeadLetterRow) => ({
  uuid: print('ASD', row.id),
  account_uuid: print('ACC', row.account_id),
  channel_uuid: print('WPN', row.channel_id),
  phone_number: row.phone_number,
  platform: row.platform,
  what: row.what,
  reason: row.reason,
  content: row.content,
  created_at: iso(row.created_at),
})

const channelRefOf = (row: store.DeadLetterRow): ChannelRef => ({
  account: row.account_id,
  channel: row.channel_id,
  connection: row.connection_id,
  platform: row.platform,
  number: row.phone_number,
})

const cursors = cursorsOf(c.listDeadLetters)

export const deadLetterRoutes = (parts: Services) => {
  const { db } = parts
  const keeper = makeStoringHandlers(parts)

  /**
   * Calls the inbound handler that `withDeadLetters` recorded, with its arguments. A missing or invalid time becomes
   * the time of receipt.
   */
  const again = ({ what, content, created_at }: store.DeadLetterRow, channelRef: ChannelRef): Promise<void> => {
    const keep = keeper[what as keyof InboundHandlers] as (channelRef: ChannelRef, ...args: unknown[]) => Promise<void>
    const timed = (key: string, value: unknown) => (key === 'at' && value === null ? created_at.getTime() : value)
    return keep(channelRef, ...(JSON.parse(content, timed) as unknown[]))
  }

  return [
    route(c.listDeadLetters, async ({ query }) => {
      const after = cursors.read(query.cursor)
      const pageRequest = requestedPage({ results_per_page: most }, after && [after.id])
      const found = await store.list(db, pageRequest.read, maxShownContentLength)
      const { rows, fields } = cutPage(pageRequest, found, ({ created_at, id }) =>
        cursors.write({ time: created_at.toISOString(), id }),
      )
      return ok({
        set_aside: rows.map(presentDeadLetter),
        ...nextOf(fields),
      })
    }),

    routeWithoutTransaction(c.retryDeadLetter, async ({ params, audit }) => {
      const id = parse('ASD', params.uuid)
      const row = (id && (await store.find(db, id))) || refuse(refusals.unknownDeadLetter(params.uuid))
      await again(row, channelRefOf(row)).catch((error: unknown) => {
        if (!isRejectedData(error)) throw error
        throw refusals.stillRefused(reasonOf(error))
      })
      await db.begin(async (tx) => {
        await store.remove(tx, row.account_id, row.id)
        const target = [print('ASD', row.id), print('WPN', row.channel_id)]
        await audit(tx, { target, account: row.account_id, before: { what: row.what } })
      })
      return ok({})
    }),
  ]
}
