import { isHidden, type NarrowingCall, narrowingOf } from '../../../domains/inbox/narrowing/ops.ts'
import { cancelMessage, eraseText, findMessage, type MessageRow, pageOfMessages } from '../../../domains/sms/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { pageFields, pageOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import * as c from './contract.ts'
import { createMessageRoute } from './create-route.ts'
import { filterOf } from './list-filter.ts'
import { presentMessage } from './presenter.ts'

const list = c.listMessages.id

export const messageRoutes = (parts: Services) => {
  const { db } = parts

  /** Finds a message that the reader may see. @throws Problem 404 */
  const messageOf = async (sql: Sql, call: NarrowingCall, sid: string): Promise<MessageRow> => {
    const { account } = call
    const id = parseSid(['SM', 'MM'], sid)
    const row = id === null ? null : await findMessage(sql, account.id, id)
    const unknown = () => refuse(refusals.unknownResource(`Messages/${sid}`))
    if (row === null || (await store.deletedAmong(sql, account.id, [row.id])).has(row.id)) return unknown()
    return (await isHidden(sql, await narrowingOf(sql, call), [row.contact])) ? unknown() : row
  }

  return [
    createMessageRoute(parts),

    route(c.listMessages, async ({ query, ...call }) => {
      const { account } = call
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/Messages`
      const page = pageOf(list, query)
      const criteria = await filterOf(db, account.id, query)
      if (criteria === null) return { ...pageFields(list, path, query, page, 0, null), messages: [] }
      const { filter, bound } = criteria
      const { rows: found, examined } = await pageOfMessages(
        db,
        account.id,
        { ...filter, status: null, error: null, user: null, narrowing: await narrowingOf(db, call) },
        { after: olderOf(page.after, bound), skip: 0, limit: page.size + 1 },
      )
      const rows = found.slice(0, page.size)
      const last = rows.at(-1)
      const end = found.length > page.size && last ? { time: last.at, id: last.id } : examined
      const deleted = await store.deletedAmong(
        db,
        account.id,
        rows.map(({ id }) => id),
      )
      const shown = rows.filter(({ id }) => !deleted.has(id))
      return {
        ...pageFields(list, path, query, page, shown.length, end),
        messages: shown.map((row) => presentMessage(account.id, row)),
      }
    }),

    route(c.fetchMessage, async ({ params, ...call }) =>
      presentMessage(call.account.id, await messageOf(db, call, params.Sid)),
    ),

    route(c.updateMessage, async ({ params, body, tx, ...call }) => {
      const { account } = call
      const { id } = await messageOf(tx, call, params.Sid)
      if (body.Status === 'canceled' && !(await cancelMessage(tx, account.id, id))) throw refusals.notCancelable()
      if (body.Body !== undefined) {
        if (body.Body !== '') throw refusals.bodyNotEmpty()
        if (!(await eraseText(tx, account.id, id))) throw refusals.underWay()
      }
      return presentMessage(account.id, await messageOf(tx, call, params.Sid))
    }),

    route(c.deleteMessage, async ({ params, tx, ...call }) => {
      const { account } = call
      const { id } = await messageOf(tx, call, params.Sid)
      if (!(await eraseText(tx, account.id, id))) throw refusals.underWay()
      await store.markDeleted(tx, account.id, id)
      return {}
    }),

    route(c.listMedia, async ({ params, query, ...call }) => {
      const { id } = await messageOf(db, call, params.Sid)
      const sid = printSid('SM', id)
      const path = `/2010-04-01/Accounts/${printSid('AC', call.account.id)}/Messages/${sid}/Media`
      const media = c.listMedia.id
      return { ...pageFields(media, path, query, pageOf(media, query), 0, null), media_list: [] }
    }),
  ]
}

/** Returns the older of two keys that precede a list. */
const olderOf = (after: readonly string[] | null, bound: readonly string[] | null): readonly string[] | null => {
  if (after === null || bound === null) return after ?? bound
  return Date.parse(after[0] ?? '') < Date.parse(bound[0] ?? '') ? after : bound
}
