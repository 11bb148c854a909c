import type { Sql } from '../../platform/db/sql.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { refuse } from '../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { readParts, writeParts } from '../../platform/lib/cursor.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { withdrawNotices } from '../push/ops.ts'
import { type Access, accessOf, maySee } from './access.ts'
import { beginConversation, threadOf } from './begin-conversation.ts'
import { changeConversations, fieldsChanged, readChange } from './change-conversation.ts'
import { unreadAfter } from './context-store.ts'
import * as c from './contract.ts'
import { listConversations } from './conversation-list.ts'
import type { ConversationRow } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { countLists } from './counts.ts'
import { findShownItem } from './find-conversation.ts'
import { takeInOlder } from './history/older-items.ts'
import { parseChannel, parseItem } from './ids.ts'
import { makeItemPresenter } from './item-presenter.ts'
import { conversationsOfContact } from './limits.ts'
import { readFilter } from './list-filters.ts'
import { presentConversations, unreadOf } from './presenter.ts'
import { refusals } from './refusals.ts'

const cursors = cursorsOf(c.listConversations)

const greatest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Cursor of items: `before` or `after` an id. */
const readItemCursor = (text: string): { direction: string; id: string } => {
  const [direction = '', id = ''] = readParts(c.listItems.id, text, 2) ?? refuse(httpRefusals.badCursor())
  const isValid = (direction === 'before' || direction === 'after') && parse('ITM', `ITM${id}`) === id
  return isValid ? { direction, id } : refuse(httpRefusals.badCursor())
}

const itemCursor = (direction: 'before' | 'after', id: string): string => writeParts(c.listItems.id, [direction, id])

/** Returns a visible conversation. @throws Problem 404 */
export const conversationOf = async (
  sql: Sql,
  access: Access,
  printed: string,
  read: (sql: Sql, account: string, id: string) => Promise<ConversationRow | null> = store.find,
): Promise<ConversationRow> => {
  const id = parse('CNV', printed)
  const row = id && (await read(sql, access.account, id))
  return row && maySee(access, row) ? row : refuse(refusals.unknownConversation(printed))
}

const presentOne = async (sql: Sql, access: Access, row: ConversationRow) =>
  (await presentConversations(sql, access, [row], true))[0] ?? refuse(refusals.unknownConversation(row.id))

const conversationRoutes = ({ db, clock }: Services) => [
  route(c.listConversations, async ({ query: { view, cursor, results_per_page: limit = 50, ...own }, ...call }) => {
    const access = await accessOf(db, call)
    const id = view === undefined ? null : parse('VIW', view)
    const saved = id && (await store.view(db, access, id))
    if (view !== undefined && !saved) throw refusals.unknownView(view)
    const filter = await readFilter(db, access, saved ? { ...saved.query, ...own } : own)
    const { rows, next } = await listConversations(db, access, filter, cursors.key(cursor), limit)
    return ok({
      count: rows.length,
      conversations: await presentConversations(db, access, rows),
      ...(next === null ? {} : { next_cursor: cursors.write({ time: next[0], id: next[1] }) }),
    })
  }),

  route(c.countConversations, async ({ query, ...call }) => {
    const counts = await countLists(db, await accessOf(db, call), query.views?.split(','))
    return ok({ counts })
  }),

  route(c.beginConversation, async ({ account, body, tx, reply, ...call }) => {
    const access = await accessOf(tx, { account, ...call })
    const { number, group_uuid: group, channel_uuid: channel } = body
    const groupId = group === undefined ? null : (parse('WAG', group) ?? refuse(refusals.unknownGroup(group)))
    if (group !== undefined && groupId && !(await store.exists(tx, account.id, 'msgapp_groups', groupId)))
      throw refusals.unknownGroup(group)
    const place = channel === undefined ? null : (parseChannel(channel) ?? refuse(refusals.unknownChannel(channel)))
    if (channel !== undefined && place && !(await store.exists(tx, account.id, place.table, place.id)))
      throw refusals.unknownChannel(channel)
    if ((number === undefined) === (group === undefined)) throw refusals.counterpartRequired()
    const given = number === undefined ? null : phoneNumber(number)
    const thread = threadOf(given, groupId)
    const { row, isNew } = await beginConversation(tx, account.id, thread, access.userId, given)
    if (!maySee(access, row)) throw refusals.unknownConversation(thread.counterpart)
    if (!isNew) reply.code(200)
    return ok({ conversation: await presentOne(tx, access, row) })
  }),

  route(c.getConversation, async ({ params, ...call }) => {
    const access = await accessOf(db, call)
    return ok({
      conversation: await presentOne(db, access, await conversationOf(db, access, params.conversation_uuid)),
    })
  }),

  route(c.changeConversation, async ({ params, body, tx, audit, ...call }) => {
    const access = await accessOf(tx, call)
    const before = await conversationOf(tx, access, params.conversation_uuid, (_, account, id) =>
      store.lock(tx, account, id),
    )
    if (body.version !== undefined && body.version !== before.version) throw refusals.versionConflict(before.version)
    const change = await readChange(tx, access.account, clock.now(), body)
    const [row = before] = await changeConversations(tx, [before], change, access.userId)
    const fields = fieldsChanged(before, row)
    await audit(tx, {
      before: Object.fromEntries(fields.map(({ field, from }) => [field, from])),
      after: Object.fromEntries(fields.map(({ field, to }) => [field, to])),
    })
    return ok({ conversation: await presentOne(tx, access, row) })
  }),

  route(c.listContactConversations, async ({ params, ...call }) => {
    const access = await accessOf(db, call)
    const id = parse('CON', params.contact_uuid)
    const exists = id !== null && (await store.exists(db, access.account, 'contacts', id))
    if (!exists) throw refusals.unknownContact(params.contact_uuid)
    const rows = await store.ofContact(db, access.account, id, conversationsOfContact)
    const visible = rows.filter((row) => maySee(access, row))
    return ok({ conversations: await presentConversations(db, access, visible) })
  }),
]

/** The items of a conversation, and how far they are read. */
const itemRoutes = (services: Services) => {
  const { db } = services
  const presentItems = makeItemPresenter(services)
  return [
    route(c.listItems, async ({ params, query, ...call }) => {
      const access = await accessOf(db, call)
      const row = await conversationOf(db, access, params.conversation_uuid)
      const { around, results_per_page: limit = 50 } = query
      const kinds = query.kinds?.split(',') ?? null
      const cursor = query.cursor === undefined ? null : readItemCursor(query.cursor)
      const center = around === undefined || cursor !== null ? null : parseItem(around)
      if (around !== undefined && cursor === null) {
        const exists = center !== null && (await store.findItem(db, access.account, row.id, center)) !== null
        if (!exists) throw refusals.unknownItem(around)
      }
      const isForward = cursor?.direction === 'after'
      const newerLimit = isForward ? limit : Math.floor(limit / 2)
      const newer = isForward
        ? await store.itemsAfter(db, row, cursor.id, kinds, limit + 1)
        : center === null
          ? []
          : await store.itemsAfter(db, row, center, kinds, newerLimit + 1)
      const shownNewer = newer.slice(0, newerLimit).toReversed()
      // The item itself is on the older side.
      const from = cursor?.id ?? (center === null ? greatest : nextId(center))
      const olderLimit = isForward ? 0 : limit - shownNewer.length
      const readOlder = () => store.itemsBefore(db, row, from, kinds, olderLimit + 1)
      let older = isForward ? [] : await readOlder()
      if (!isForward && older.length <= olderLimit && row.items_before !== null && (await takeInOlder(db, row)))
        older = await readOlder()
      const rows = [...shownNewer, ...older.slice(0, olderLimit)]
      const [first, last] = [rows[0], rows.at(-1)]
      const hasOlder = isForward ? first !== undefined : older.length > olderLimit
      const hasNewer = isForward || center !== null ? newer.length > newerLimit : cursor !== null
      return ok({
        count: rows.length,
        items: await presentItems(db, access.account, rows),
        ...(hasOlder && last ? { next_cursor: itemCursor('before', last.id) } : {}),
        ...(hasNewer && first ? { previous_cursor: itemCursor('after', first.id) } : {}),
      })
    }),

    route(c.readConversation, async ({ params, body, tx, ...call }) => {
      const access = await accessOf(tx, call)
      const row = await conversationOf(tx, access, params.conversation_uuid)
      const until = body.until === undefined ? null : await findShownItem(tx, access.account, row, body.until)
      if (body.until !== undefined && until === null) throw refusals.unknownItem(body.until)
      if ((body.until === undefined) === (body.unread === undefined)) throw refusals.readMarkRequired()
      if (until !== null) {
        await store.setRead(tx, access, row.id, until, false)
        await withdrawNotices(tx, access.account, [row.id], { user: access.userId, until })
      } else if (row.last_inbound !== null) {
        const after = await unreadAfter(tx, access.account, access.user)
        const mark = previousId(row.last_inbound)
        // Items that are older than the inbox stay read.
        await store.setRead(tx, access, row.id, mark > after ? mark : after, true)
      }
      return ok({ unread: (await unreadOf(tx, access, [row])).get(row.id) ?? 0 })
    }),
  ]
}

export const inboxRoutes = (services: Services) => [...conversationRoutes(services), ...itemRoutes(services)]

const neighbour = (id: string, step: bigint): string => {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + step).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The id after, and before, an id. */
const nextId = (id: string): string => neighbour(id, 1n)
const previousId = (id: string): string => neighbour(id, -1n)
