import { isHidden, type NarrowingCall, narrowingOf } from '../../../domains/inbox/narrowing/ops.ts'
import {
  cancelMessage,
  eraseMedia,
  eraseText,
  filesOf,
  findMessage,
  type MessageRow,
  pageOfMessages,
} from '../../../domains/sms/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { cutPage, pageFields, pageOf, rangeOf } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import * as c from './contract.ts'
import { createMessageRoute } from './create-route.ts'
import { filterOf } from './list-filter.ts'
import { mediaPath, presentMedia, presentMessage } from './presenter.ts'

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

  /** Returns the files of a message, at most ten. */
  const mediaOf = async (account: string, row: MessageRow) =>
    (await filesOf(parts.chat, db, account, row)).map((file) => presentMedia(account, row, file))

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
        rangeOf(page, bound),
      )
      const { rows, next } = cutPage(found, page)
      const deleted = await store.deletedAmong(
        db,
        account.id,
        rows.map(({ id }) => id),
      )
      const shown = rows.filter(({ id }) => !deleted.has(id))
      return {
        ...pageFields(list, path, query, page, shown.length, next ?? examined),
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
      const row = await messageOf(tx, call, params.Sid)
      const { id } = row
      if (!(await eraseText(tx, account.id, id))) throw refusals.underWay()
      await eraseMedia(tx, account.id, row)
      await store.markDeleted(tx, account.id, id)
      return {}
    }),

    route(c.listMedia, async ({ params, query, ...call }) => {
      const row = await messageOf(db, call, params.Sid)
      const files = await mediaOf(call.account.id, row)
      const media = c.listMedia.id
      const fields = pageFields(media, mediaPath(call.account.id, row), query, pageOf(media, query), files.length, null)
      return { ...fields, media_list: files }
    }),

    route(c.fetchMedia, async ({ params, ...call }) => {
      const files = await mediaOf(call.account.id, await messageOf(db, call, params.Sid))
      const { MediaSid: sid } = params
      return files.find((file) => file.sid === sid) ?? refuse(refusals.unknownResource(`Media/${sid}`))
    }),
  ]
}
