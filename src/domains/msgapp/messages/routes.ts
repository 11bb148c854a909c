import { e164 } from '@trunkline/phone/phone.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { ok, route, routeHotPathWithPreparation, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { type Cursors, cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, type PagingQuery, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { cancelJob } from '../../../platform/jobs/ops.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { isCursorTime, readParts, writeParts } from '../../../platform/lib/cursor.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { contactsByNumber } from '../../contacts/ops.ts'
import { narrowingOf } from '../../inbox/narrowing/ops.ts'
import { channelOf, channelOfNumber } from '../channels/ops.ts'
import { deletionWaitMs } from '../limits.ts'
import { requestOperation, waitForAnswer } from '../operations/requests.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { findMessage } from './find-message.ts'
import { type MessageRow, presentMessage } from './message-presenter.ts'
import * as rows from './message-query-store.ts'
import { isHiddenChat, isHiddenGroup } from './narrowing.ts'
import { deleteMessages } from './outbound/delete-operation.ts'
import { checkSendRequest, sendMessage } from './outbound/send-message.ts'
import { groupPeer, peerOf, readSessionKey, sessionKey } from './peer.ts'
import { markRead } from './reading/mark-read.ts'
import * as store from './store.ts'

/** Parses a cursor of conversations, which have no ids of their own. */
const parsePosition = (cursor: string): readonly string[] => {
  const [time = '', id = ''] = readParts(c.listConversations.id, cursor, 2) ?? refuse(httpRefusals.badCursor())
  return isCursorTime(time) && id !== '' ? [time, id] : refuse(httpRefusals.badCursor())
}

const channelCursors = cursorsOf(c.listMessages)
const peerCursors = cursorsOf(c.getConversation)
const groupCursors = cursorsOf(c.listGroupMessages)

type MessageDeps = Pick<Services, 'db' | 'chat'>

const presentMessages = async ({ loadViewContext }: Services['chat'], sql: Sql, list: readonly MessageRow[]) => {
  const context = await loadViewContext(sql, list)
  return list.map((row) => presentMessage(row, context))
}

const pageFrom = async ({ db, chat }: MessageDeps, cursors: Cursors, query: PagingQuery, what: rows.MessageList) => {
  const pageRequest = requestedPage(query, cursors.key(query.cursor))
  const [{ rows: found, examined }, total] = await Promise.all([
    rows.list(db, what, pageRequest.read),
    query.cursor === undefined ? rows.total(db, what) : null,
  ])
  const page = cutPage(pageRequest, found, ({ exact, id }) => cursors.write({ time: exact, id }))
  return ok({
    ...(examined === null ? {} : { next_cursor: cursors.write(examined) }),
    ...page.fields,
    ...(total === null ? {} : totalFields(total)),
    messages: await presentMessages(chat, db, page.rows),
  })
}

/** Whether the message was still queued; its job is cancelled, and no one receives it. */
const isUnsent = async (tx: Tx, row: MessageRow): Promise<boolean> =>
  row.sent_by === 'api' && row.network_id === null && (await cancelJob(tx, row.id))

const groupOf = async (sql: Sql, account: string, printed: string) => {
  const id = parse('WAG', printed)
  return (id && (await rows.group(sql, account, id))) || refuse(refusals.unknownGroup(printed))
}

/** Maps a conversation, without its contact and last message. */
const presentConversation = (row: rows.SessionRow, channelNumber: string) => ({
  session_key: sessionKey(row.channel_id, row.peer),
  channel_uuid: print('WPN', row.channel_id),
  channel_phone_number: channelNumber,
  ...(row.number === null ? {} : { remote_phone_number: row.number }),
  ...(row.number === null && row.remote_id !== null ? { remote_id: row.remote_id } : {}),
  ...(row.pushname ? { pushname: row.pushname } : {}),
  ...(row.group_id ? { group_uuid: print('WAG', row.group_id) } : {}),
  ...(row.group_name ? { name: row.group_name } : {}),
})

/** Single messages, and the messages of a channel or group. */
const singleMessageRoutes = ({ db, outbound, chat }: Services) => [
  routeHotPathWithPreparation(
    c.sendMessage,
    async ({ body, isSandbox }) => {
      checkSendRequest(body)
      const fault = body.url === undefined ? null : await outbound.of(isSandbox).check(body.url)
      if (fault !== null) throw refusals.urlRefused(fault)
    },
    async ({ account, body, tx }) => {
      const request = { ...body, from_number: phoneNumber(body.from_number) }
      const id = await sendMessage({ db, chat }, tx, account.id, request)
      return ok({ message_uuid: print('MSG', id), batched: true as const })
    },
  ),

  route(c.getMessage, async ({ params, ...call }) => {
    const { session_key: key, message_uuid: printed } = params
    const row = await findMessage(db, call.account.id, key, printed, await narrowingOf(db, call))
    return ok({ message: presentMessage(row, await chat.loadViewContext(db, [row])) })
  }),

  routeWithoutTransaction(c.deleteMessage, async ({ params, ...call }) => {
    const { account } = call
    const { session_key: key, message_uuid: printed } = params
    const row = await findMessage(db, account.id, key, printed, await narrowingOf(db, call))
    const { network_id: networkId } = row
    const channel = await rows.channelById(db, account.id, row.channel_id)
    const forgotten = async (tx: Tx, reach: 'everyone' | 'us') =>
      (await deleteMessages(tx, [{ account: account.id, id: row.id, reach }]))
        ? reach
        : refuse(refusals.unknownMessage(params.message_uuid))
    const begun = await db.begin(async (tx) => {
      if (await isUnsent(tx, row)) return { reach: await forgotten(tx, 'everyone') }
      if (!channel || networkId === null || row.direction === 'inbound') return { reach: await forgotten(tx, 'us') }
      const { group_network_id: group, remote_number: number, remote_id: remote } = row
      const from = group === null ? { number: number ?? '', remote } : { group }
      const payload = { message: row.id, networkId, from }
      const { account: owner, id, connection } = channel
      const operation = {
        account: owner,
        connection,
        channel: id,
        act: 'remove',
        payload,
        milliseconds: deletionWaitMs,
      }
      return { asked: await requestOperation(tx, operation) }
    })
    const { message_uuid } = params
    if ('reach' in begun) return ok({ message_uuid, deleted_for: begun.reach })
    const answer = await waitForAnswer<'everyone' | 'us'>(db, begun.asked, deletionWaitMs)
    if (answer?.outcome === 'done') return ok({ message_uuid, deleted_for: answer.value })
    // The network did not answer: the message is deleted here only, unless the answer has just arrived.
    const reach = await db.begin(async (tx) =>
      (await deleteMessages(tx, [{ account: account.id, id: row.id, reach: 'us' }]))
        ? 'us'
        : store.deletionReachOf(tx, account.id, row.id),
    )
    return ok({ message_uuid, deleted_for: reach ?? refuse(refusals.unknownMessage(params.message_uuid)) })
  }),

  route(c.listMessages, async ({ params, query, ...call }) => {
    const { account } = call
    const { id } = await channelOfNumber(db, account.id, phoneNumber(params.number))
    const narrowing = await narrowingOf(db, call)
    return pageFrom({ db, chat }, channelCursors, query, {
      channel: { account: account.id, id },
      peer: null,
      narrowing,
    })
  }),

  route(c.listGroupMessages, async ({ params, query, ...call }) => {
    const { account } = call
    const group = await groupOf(db, account.id, params.group_uuid)
    const narrowing = await narrowingOf(db, call)
    if (await isHiddenGroup(db, narrowing, group.id)) throw refusals.unknownGroup(params.group_uuid)
    const channel = { account: account.id, id: group.channel }
    return pageFrom({ db, chat }, groupCursors, query, {
      channel,
      peer: groupPeer(group.id, group.network_id),
      narrowing: null,
    })
  }),
]

const conversationRoutes = ({ db, chat }: Services) => [
  route(c.readConversation, async ({ params, body, tx, ...call }) => {
    const { account } = call
    const narrowing = await narrowingOf(tx, call)
    const key = params.session_key
    const place = readSessionKey(key) ?? refuse(refusals.unknownConversation(key))
    const found =
      body.message_uuid === undefined ? null : await findMessage(tx, account.id, key, body.message_uuid, narrowing)
    const channelKey = { account: account.id, id: place.channel }
    const peer =
      found?.peer ??
      (await rows.peerByRemote(tx, channelKey, place.peer))?.peer ??
      (await rows.currentPeer(tx, channelKey, place.peer))
    if (await isHiddenChat(tx, narrowing, place.channel, peer)) throw refusals.unknownConversation(key)
    const done =
      (await markRead(tx, { account: account.id, channel: place.channel, peer }, found?.id ?? null)) ??
      refuse(refusals.unknownConversation(key))
    return ok({ unread_count: done.unread, batched: done.isTold })
  }),

  route(c.getConversation, async ({ params, query, ...call }) => {
    const { account } = call
    const channel = await channelOfNumber(db, account.id, phoneNumber(params.number))
    const place = { account: account.id, id: channel.id }
    const number = e164(params.remote.replace(/@c\.us$/, ''))
    const found =
      number === null
        ? await rows.peerByRemote(db, place, params.remote)
        : { peer: await rows.currentPeer(db, place, peerOf(number)) }
    const narrowing = await narrowingOf(db, call)
    // A person without a number whom the reader may not see is answered as one who never wrote.
    const isHidden = found !== null && number === null && (await isHiddenChat(db, narrowing, channel.id, found.peer))
    const known = isHidden ? null : found
    if (!known && !params.remote.includes('@')) throw refusals.notAPerson(params.remote)
    return pageFrom({ db, chat }, peerCursors, query, {
      channel: place,
      peer: known?.peer ?? params.remote,
      narrowing,
    })
  }),

  route(c.listConversations, async ({ params, query, ...call }) => {
    const { account } = call
    const channel = await channelOf(db, account.id, params.channel_uuid)
    const place = { account: account.id, id: channel.id }
    const pageRequest = requestedPage(query, query.cursor === undefined ? null : parsePosition(query.cursor))
    const number = query.phone_number === undefined ? null : phoneNumber(query.phone_number)
    const what = { channel: place, number, narrowing: await narrowingOf(db, call) }
    const [{ rows: found, examined }, total] = await Promise.all([
      rows.sessions(db, what, pageRequest.read),
      rows.sessionCount(db, what),
    ])
    const { rows: list, fields } = cutPage(pageRequest, found, ({ exact, peer }) =>
      writeParts(c.listConversations.id, [exact, peer]),
    )
    const newest = await presentMessages(
      chat,
      db,
      await rows.byId(
        db,
        list.map((row) => ({ account: account.id, id: row.last_message_id })),
      ),
    )
    const messages = new Map(newest.map((message) => [message.id, message]))
    const contacts = await contactsByNumber(
      db,
      list.flatMap(({ number }) => (number === null ? [] : [{ account: account.id, number }])),
    )
    return ok({
      ...(examined === null ? {} : { next_cursor: writeParts(c.listConversations.id, [examined.time, examined.id]) }),
      ...fields,
      ...totalFields(total),
      sessions: list.map((row) => {
        const message = messages.get(print('MSG', row.last_message_id))
        const contact = contacts.get(`${account.id} ${row.number}`)
        return {
          ...presentConversation(row, channel.number),
          ...(contact ? { contact } : {}),
          unread_count: row.unread,
          last_activity_at: iso(row.last_at),
          ...(message ? { last_message: message } : {}),
        }
      }),
    })
  }),
]

export const messageRoutes = (parts: Services) => [...singleMessageRoutes(parts), ...conversationRoutes(parts)]
