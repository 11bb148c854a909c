import { knownBy } from '../../contacts/ops.ts'
import type { Sql, Tx } from '../../db/sql.ts'
import { badCursor, type Cursors, cursorsOf } from '../../http/cursor.ts'
import { ok, serve, serveFastAfter, serveOutside } from '../../http/endpoint.ts'
import { conflict, invalid, notFound, unprocessable } from '../../http/problem.ts'
import { pageOf } from '../../http/schema.ts'
import { phoneNumber } from '../../http/validation.ts'
import { withdraw } from '../../jobs/ops.ts'
import { iso } from '../../lib/clock.ts'
import { isCursorTime, readParts, writeParts } from '../../lib/cursor.ts'
import { parse, print, uuid } from '../../lib/id.ts'
import { e164 } from '../../lib/phone.ts'
import type { Parts } from '../../parts.ts'
import { answered, ask } from '../asking.ts'
import { channelOf, channelOfNumber } from '../channels/ops.ts'
import { nameOf } from '../media/limits.ts'
import * as c from './contract.ts'
import { groupPeer, peerOf, readSessionKey, sessionKey } from './peer.ts'
import { read } from './reading.ts'
import { forget } from './removing.ts'
import * as rows from './rows.ts'
import { type MessageRow, shownMessage } from './shown.ts'
import * as store from './store.ts'

/** A network is waited for so long when a message is to be taken back. */
const patienceMs = 10_000

type Wish = {
  readonly to_number?: string
  readonly to_group_uuid?: string
  readonly to_remote_id?: string
  readonly text?: string
  readonly url?: string
  readonly pin?: object
  readonly template?: { readonly parameters?: readonly string[]; readonly components?: readonly object[] }
}

const checkWish = ({ to_number, to_group_uuid, to_remote_id, text = '', url, pin, template }: Wish): void => {
  if ([to_number, to_group_uuid, to_remote_id].filter((to) => to !== undefined).length !== 1)
    invalid('Exactly one of to_number, to_group_uuid and to_remote_id is required')
  if (template) {
    if (to_group_uuid !== undefined) invalid('A template goes to to_number or to_remote_id')
    if (text !== '' || url !== undefined || pin !== undefined) invalid('A template goes without text, url and pin')
    if (template.parameters && template.components) invalid('template has parameters or components, not both')
    return
  }
  if (text === '' && url === undefined && pin === undefined)
    invalid('At least one of text, url, pin and template is required')
}

type Paged = Parameters<typeof pageOf>[0] & { cursor?: string }

/** Where a page begins; one row more than it has is read, to know whether there is another. */
const startOf = (cursors: Cursors, query: Paged) => {
  const { page, limit, offset } = pageOf(query)
  const after = cursors.read(query.cursor)
  return { page, limit, start: { after, offset: after ? 0 : offset, limit: limit + 1 } }
}

/** A cursor of conversations: they have no ids of their own. */
const readPlace = (cursor: string): { time: string; id: string } => {
  const [time = '', id = ''] = readParts(c.listConversations.id, cursor, 2) ?? badCursor()
  return isCursorTime(time) && id !== '' ? { time, id } : badCursor()
}

const channelCursors = cursorsOf(c.listMessages)
const peerCursors = cursorsOf(c.getConversation)
const groupCursors = cursorsOf(c.listGroupMessages)

export const messageRoutes = ({ db, outbound, chat }: Parts) => {
  const { accept, lines, surroundings } = chat

  const shown = async (sql: Sql, list: readonly MessageRow[]) => {
    const around = await surroundings(sql, list)
    return list.map((row) => shownMessage(row, around))
  }

  const pageFrom = async (
    cursors: Cursors,
    query: Paged,
    place: { account: string; id: string },
    peer: string | null,
  ) => {
    const { page, limit, start } = startOf(cursors, query)
    const read = peer === null ? rows.ofChannel(db, place, start) : rows.ofPeer(db, place, peer, start)
    const counted = query.cursor === undefined ? rows.total(db, place, peer) : null
    const [found, total] = await Promise.all([read, counted])
    const list = found.slice(0, limit)
    const last = list.at(-1)
    return ok({
      count: list.length,
      page,
      ...(total === null ? {} : { total }),
      messages: await shown(db, list),
      ...(found.length > limit && last ? { next_cursor: cursors.write({ time: last.exact, id: last.id }) } : {}),
    })
  }

  const unknown = (printed: string) => notFound(`Message ${printed} does not exist in this conversation`)

  /** A message by its ids; somebody without a number may be named by the network's id for good. */
  const messageOf = async (sql: Sql, account: string, key: string, printed: string): Promise<MessageRow> => {
    const id = parse('MSG', printed)
    const place = readSessionKey(key)
    const row = id && place && (await rows.find(sql, account, id))
    if (!row || row.channel_id !== place.channel) return unknown(printed)
    if (place.peer === row.peer || place.peer === row.remote_id) return row
    const former = await rows.formerly(sql, { account, id: place.channel }, place.peer)
    return former === row.peer ? row : unknown(printed)
  }

  /** Whether nobody ever gets it: its sending is still to come, and is taken back. */
  const isUnsent = async (tx: Tx, row: MessageRow): Promise<boolean> =>
    row.sent_by === 'api' && row.network_id === null && (await withdraw(tx, row.id))

  const groupOf = async (sql: Sql, account: string, printed: string) => {
    const id = parse('WAG', printed)
    return (id && (await rows.group(sql, account, id))) || notFound(`Group ${printed} does not exist`)
  }

  return [
    serveFastAfter(
      c.sendMessage,
      async ({ body, request }) => {
        checkWish(body)
        const fault = body.url === undefined ? null : await outbound.of(request.isSandbox).judge(body.url)
        if (fault !== null) invalid(`url ${fault}`, 'url_refused')
      },
      async ({ account, body, tx }) => {
        const sql = tx ?? db
        const line = lines.of(account.id, phoneNumber(body.from_number), sql)
        const channel = line instanceof Promise ? await line : line
        const group = body.to_group_uuid === undefined ? null : await groupOf(sql, account.id, body.to_group_uuid)
        if (group && group.channel !== channel.id) notFound(`${channel.number} is in no group ${body.to_group_uuid}`)
        const { able } = channel
        able.demand('send')
        if (group) able.demand('groups')
        if (body.url !== undefined) able.demand('media')
        if (body.pin) able.demand('location')
        if (body.template) able.demand('templates')
        const remote = body.to_remote_id ?? null
        const known =
          remote === null ? null : await rows.peerByRemote(sql, { account: account.id, id: channel.id }, remote)
        if (remote !== null && !known) notFound(`Nobody called ${remote} has written to ${channel.number}`)
        const number = body.to_number === undefined ? (known?.number ?? null) : phoneNumber(body.to_number)
        if (number === channel.number) unprocessable(`to_number is ${number} itself`, 'own_number')
        const networkId = group?.network_id ?? null
        if (group && networkId === null) conflict(`${body.to_group_uuid} is still being made`, 'group_pending')
        const id = uuid()
        await accept.message(
          {
            account: account.id,
            id,
            channel: channel.id,
            connection: channel.connection,
            peer: group ? groupPeer(group.id, networkId) : (known?.peer ?? peerOf(number ?? '')),
            number,
            remote,
            group: group && networkId !== null ? { id: group.id, networkId } : null,
            text: body.text || null,
            pin: body.pin ? JSON.stringify(body.pin) : null,
            template: body.template ? JSON.stringify(body.template) : null,
            media: body.url === undefined ? null : { id: uuid(), url: body.url, name: nameOf(body.url) },
          },
          tx,
        )
        return ok({ message_uuid: print('MSG', id), batched: true as const })
      },
    ),

    serve(c.getMessage, async ({ account, params }) => {
      const row = await messageOf(db, account.id, params.session_key, params.message_uuid)
      return ok({ message: shownMessage(row, await surroundings(db, [row])) })
    }),

    serve(c.readConversation, async ({ account, params, body, tx }) => {
      const key = params.session_key
      const none = () => notFound(`Conversation ${key} does not exist`)
      const place = readSessionKey(key) ?? none()
      const found = body.message_uuid === undefined ? null : await messageOf(tx, account.id, key, body.message_uuid)
      const there = { account: account.id, id: place.channel }
      const peer =
        found?.peer ??
        (await rows.peerByRemote(tx, there, place.peer))?.peer ??
        (await rows.peerNow(tx, there, place.peer))
      const done = (await read(tx, { account: account.id, channel: place.channel, peer }, found?.id ?? null)) ?? none()
      return ok({ unread_count: done.unread, batched: done.isTold })
    }),

    serveOutside(c.deleteMessage, async ({ account, params }) => {
      const row = await messageOf(db, account.id, params.session_key, params.message_uuid)
      const { network_id: networkId } = row
      const channel = await rows.channelById(db, account.id, row.channel_id)
      const forgotten = async (tx: Tx, reach: 'everyone' | 'us') =>
        (await forget(tx, [{ account: account.id, id: row.id, reach }])) ? reach : unknown(params.message_uuid)
      const begun = await db.begin(async (tx) => {
        if (await isUnsent(tx, row)) return { reach: await forgotten(tx, 'everyone') }
        if (!channel || networkId === null || row.direction === 'inbound') return { reach: await forgotten(tx, 'us') }
        const { group_network_id: group, remote_number: number, remote_id: remote } = row
        const from = group === null ? { number: number ?? '', remote } : { group }
        const payload = { message: row.id, networkId, from }
        const { account: owner, id, connection } = channel
        const wish = { account: owner, connection, channel: id, act: 'remove', payload, milliseconds: patienceMs }
        return { asked: await ask(tx, wish) }
      })
      const { message_uuid } = params
      if ('reach' in begun) return ok({ message_uuid, deleted_for: begun.reach })
      const answer = await answered<'everyone' | 'us'>(db, begun.asked, patienceMs)
      if (answer?.outcome === 'done') return ok({ message_uuid, deleted_for: answer.value })
      // The network was not to be had: it is gone here, unless its answer has come at this moment.
      const reach = await db.begin(async (tx) =>
        (await forget(tx, [{ account: account.id, id: row.id, reach: 'us' }]))
          ? 'us'
          : store.reachOf(tx, account.id, row.id),
      )
      return ok({ message_uuid, deleted_for: reach ?? unknown(params.message_uuid) })
    }),

    serve(c.listMessages, async ({ account, params, query }) => {
      const channel = await channelOfNumber(db, account.id, phoneNumber(params.number))
      return pageFrom(channelCursors, query, { account: account.id, id: channel.id }, null)
    }),

    serve(c.getConversation, async ({ account, params, query }) => {
      const channel = await channelOfNumber(db, account.id, phoneNumber(params.number))
      const place = { account: account.id, id: channel.id }
      const number = e164(params.remote.replace(/@c\.us$/, ''))
      const known =
        number === null
          ? await rows.peerByRemote(db, place, params.remote)
          : { peer: await rows.peerNow(db, place, peerOf(number)) }
      if (!known && !params.remote.includes('@'))
        unprocessable(
          `${params.remote} is neither a phone number nor the id of anybody who wrote`,
          'invalid_phone_number',
        )
      return pageFrom(peerCursors, query, place, known?.peer ?? params.remote)
    }),

    serve(c.listGroupMessages, async ({ account, params, query }) => {
      const group = await groupOf(db, account.id, params.group_uuid)
      const place = { account: account.id, id: group.channel }
      return pageFrom(groupCursors, query, place, groupPeer(group.id, group.network_id))
    }),

    serve(c.listConversations, async ({ account, params, query }) => {
      const channel = await channelOf(db, account.id, params.channel_uuid)
      const place = { account: account.id, id: channel.id }
      const { page, limit, offset } = pageOf(query)
      const after = query.cursor === undefined ? null : readPlace(query.cursor)
      const start = { after, offset: after ? 0 : offset, limit: limit + 1 }
      const number = query.phone_number === undefined ? null : phoneNumber(query.phone_number)
      const [found, { total }] = await Promise.all([
        rows.sessions(db, place, number, start),
        rows.sessionCount(db, place, number),
      ])
      const list = found.slice(0, limit)
      const last = list.at(-1)
      const newest = await shown(
        db,
        await rows.byId(
          db,
          [account.id],
          list.map((row) => row.last_message_id),
        ),
      )
      const messages = new Map(newest.map((message) => [message.id, message]))
      const contacts = await knownBy(
        db,
        list.flatMap(({ number }) => (number === null ? [] : [{ account: account.id, number }])),
      )
      return ok({
        count: list.length,
        page,
        total,
        sessions: list.map((row) => {
          const message = messages.get(print('MSG', row.last_message_id))
          const contact = contacts.get(`${account.id} ${row.number}`)
          return {
            session_key: sessionKey(row.channel_id, row.peer),
            channel_uuid: print('WPN', row.channel_id),
            channel_phone_number: channel.number,
            ...(row.number === null ? {} : { remote_phone_number: row.number }),
            ...(row.number === null && row.remote_id !== null ? { remote_id: row.remote_id } : {}),
            ...(row.pushname ? { pushname: row.pushname } : {}),
            ...(row.group_id ? { group_uuid: print('WAG', row.group_id) } : {}),
            ...(row.group_name ? { name: row.group_name } : {}),
            ...(contact ? { contact } : {}),
            unread_count: row.unread,
            last_activity_at: iso(row.last_at),
            ...(message ? { last_message: message } : {}),
          }
        }),
        ...(found.length > limit && last
          ? { next_cursor: writeParts(c.listConversations.id, [last.exact, last.peer]) }
          : {}),
      })
    }),
  ]
}
