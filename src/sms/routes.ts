import { cursorsOf } from '../http/cursor.ts'
import { ok, serve, serveFast, serveOutside } from '../http/endpoint.ts'
import { conflict, invalid, notFound } from '../http/problem.ts'
import { isPaged, pageOf } from '../http/schema.ts'
import { phoneNumber } from '../http/validation.ts'
import { withdraw } from '../jobs/ops.ts'
import { iso } from '../lib/clock.ts'
import type { Cursor } from '../lib/cursor.ts'
import { parse, print } from '../lib/id.ts'
import { dollars } from '../lib/money.ts'
import { e164 } from '../lib/phone.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { cancel } from './endings.ts'
import { sendText } from './ops.ts'
import { planFor, previewOf } from './plan.ts'
import { shownMessage } from './shown.ts'
import * as store from './store.ts'
import * as ways from './ways.ts'

const longest = 1600
const longestAheadMs = 366 * 86_400_000

const shownChannel = (row: store.ChannelRow) => ({
  uuid: print('SMS', row.id),
  account_uuid: print('ACC', row.account_id),
  voip_number_setup_uuid: print('DID', row.virtual_number_id),
  phone_number: row.phone_number,
  friendly_name: row.friendly_name,
  iso_country_code: row.iso_country_code,
  supports_sms_in: row.supports_sms_in,
  supports_sms_out: row.supports_sms_out,
  enabled: row.enabled,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** The id of a message, whichever way it went. */
const messageId = (printed: string): string =>
  parse('SMO', printed) ?? parse('SMI', printed) ?? notFound(`SMS ${printed} does not exist`)

/** The message, if it went the way that the printed id says. */
const asPrinted = <Row extends store.MessageRow>(row: Row | null, printed: string): Row =>
  row && shownMessage(row).uuid.slice(0, 3) === printed.slice(0, 3) ? row : notFound(`SMS ${printed} does not exist`)

/** Before every message of a second. */
const leastId = '00000000-0000-0000-0000-000000000000'

/** The older of two bounds: a time, and a cursor. */
const olderOf = (time: Date | null, cursor: Cursor | null): Cursor | null => {
  if (time === null) return cursor
  if (cursor && Date.parse(cursor.time) < time.getTime()) return cursor
  return { time: time.toISOString(), id: leastId }
}

const momentOf = (given: string | undefined): Date | null => (given === undefined ? null : new Date(given))

/** A contact as it is kept: E.164 where it can be, else the sender's short code or name. */
const contactOf = (given: string): string => e164(given) ?? (given.startsWith('+') ? phoneNumber(given) : given)

const checked = (text: string): string =>
  text.length <= longest ? text : invalid(`text must have at most ${longest} UTF-16 units, and has ${text.length}`)

const threadCursors = cursorsOf(c.getSmsThread)
const listCursors = cursorsOf(c.listSmsMessages)

export const smsRoutes = (parts: Parts) => {
  const { db, clock } = parts
  /** Null for at once. */
  const timeOf = (given: string | undefined): Date | null => {
    if (given === undefined) return null
    const at = new Date(given)
    const ahead = at.getTime() - clock.now()
    if (ahead > longestAheadMs) invalid('send_at must be at most a year ahead')
    return ahead > 0 ? at : null
  }

  const channelOf = async (account: string, printed: string) => {
    const id = parse('SMS', printed)
    return (id && (await store.channel(db, account, id))) || notFound(`SMS channel ${printed} does not exist`)
  }

  return [
    serveFast(c.sendSms, async ({ account, body, tx }) => {
      const text = checked(body.text)
      const sendAt = timeOf(body.send_at)
      const [from, to] = [phoneNumber(body.from_number), phoneNumber(body.to_number)]
      const id = await sendText(parts, tx, account, { from, to, text, sendAt })
      return ok({ message_uuid: print('SMO', id) })
    }),

    serveOutside(c.previewSms, async ({ account, body }) => {
      const plan = planFor(parts, account, phoneNumber(body.to_number))
      const { encoding, parts: texts, forcedBy, price, each } = previewOf(checked(body.text), plan)
      return ok({
        encoding,
        ...(forcedBy === null ? {} : { forced_by: forcedBy }),
        fragments: texts.length,
        parts: texts,
        price: dollars(price),
        price_per_fragment: dollars(each),
      })
    }),

    serve(c.listSmsChannels, async ({ account, query }) => {
      const rows = await store.channels(db, account.id)
      const { page, limit, offset } = pageOf(query)
      const list = isPaged(query) ? rows.slice(offset, offset + limit) : rows
      return ok({ count: list.length, page, total: rows.length, channels: list.map(shownChannel) })
    }),

    serve(c.getSmsChannel, async ({ account, params }) =>
      ok({ channel: shownChannel(await channelOf(account.id, params.channel_uuid)) }),
    ),

    serve(c.getSmsThread, async ({ account, params, query }) => {
      const contact = contactOf(params.contact_number)
      const channel = await channelOf(account.id, params.channel_uuid)
      const { page, limit, offset } = pageOf(query)
      const since = query.before_ts === undefined ? null : new Date(query.before_ts * 1_000)
      const after = threadCursors.read(query.cursor)
      const start = { before: olderOf(since, after), limit: limit + 1, offset: after ? 0 : offset }
      const rows = await store.thread(db, channel, contact, start)
      const list = rows.slice(0, limit).reverse()
      const [oldest] = list
      return ok({
        count: list.length,
        page,
        // Whoever pages by time or by cursor does not wait for a long thread to be counted.
        ...(query.page_number === undefined && query.page === undefined
          ? {}
          : { total: await store.threadTotal(db, channel, contact) }),
        messages: list.map(shownMessage),
        ...(rows.length > limit && oldest
          ? { next_cursor: threadCursors.write({ time: oldest.at, id: oldest.id }) }
          : {}),
      })
    }),

    serve(c.listSmsMessages, async ({ account, query }) => {
      const channel = query.channel_uuid === undefined ? null : (await channelOf(account.id, query.channel_uuid)).id
      const { page, limit, offset } = pageOf(query)
      const filter = {
        channel,
        direction: query.direction ?? null,
        status: query.status ?? null,
        since: momentOf(query.since),
      }
      const after = listCursors.read(query.cursor)
      const before = olderOf(momentOf(query.until), after)
      const rows = await store.page(db, account.id, filter, { before, limit: limit + 1, offset: after ? 0 : offset })
      const list = rows.slice(0, limit)
      const oldest = list.at(-1)
      return ok({
        count: list.length,
        page,
        ...(query.page_number === undefined && query.page === undefined
          ? {}
          : { total: await store.pageTotal(db, account.id, filter, before) }),
        messages: list.map(shownMessage),
        ...(rows.length > limit && oldest
          ? { next_cursor: listCursors.write({ time: oldest.at, id: oldest.id }) }
          : {}),
      })
    }),

    serve(c.getSmsMessage, async ({ account, params: { message_uuid: printed } }) =>
      ok({ message: shownMessage(asPrinted(await store.message(db, account.id, messageId(printed)), printed)) }),
    ),

    serve(c.cancelSms, async ({ account, params: { message_uuid: printed }, tx }) => {
      const id = messageId(printed)
      asPrinted(await store.message(tx, account.id, id), printed)
      // A worker that has it in hand goes on with it.
      const isOurs = await withdraw(tx, id)
      const canceled = isOurs && (await cancel(tx, account.id, id))
      if (!canceled) conflict(`${printed} is not scheduled any more`, 'not_scheduled')
      return ok({ message: shownMessage(asPrinted(await store.message(tx, account.id, id), printed)) })
    }),

    serve(c.inspectMessage, async ({ params: { message_uuid: printed } }) => {
      const row = asPrinted(await ways.find(db, messageId(printed)), printed)
      const [pieces, attempts] = await Promise.all([ways.parts(db, row), ways.attempts(db, row)])
      return ok({
        account_uuid: print('ACC', row.account_id),
        channel_uuid: print('SMS', row.channel_id),
        message: shownMessage(row),
        candidates: (row.candidates ?? []).map(({ connection, name, prefix, priority, weight }) => ({
          connection_uuid: print('CNX', connection),
          name,
          prefix,
          priority,
          weight,
        })),
        parts: pieces.map((part) => ({
          part: part.part,
          connection_uuid: print('CNX', part.connection_id),
          ...(part.carrier_id === null ? {} : { carrier_id: part.carrier_id }),
          status: part.status,
          ...(part.error_code === null ? {} : { error_code: part.error_code }),
          sent_at: iso(part.sent_at),
          updated_at: iso(part.updated_at),
        })),
        attempts: attempts.map(({ part, connection_id, outcome, reason, at }) => ({
          part,
          connection_uuid: print('CNX', connection_id),
          outcome,
          reason,
          at: iso(at),
        })),
      })
    }),
  ]
}
