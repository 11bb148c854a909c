import { e164 } from '@trunkline/phone/phone.ts'
import type { Static } from 'typebox'
import type { Sql } from '../../platform/db/sql.ts'
import { ok, route, routeHotPathWithRarePreparation, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { boundOf, cutPage, isNumbered, optionalPage, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { cancelJob } from '../../platform/jobs/ops.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { dollars } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { isHidden, type NarrowingCall, narrowingOf } from '../inbox/narrowing/ops.ts'
import { requireUser } from '../users/ops.ts'
import { preview, quoteFor } from './accept/quote.ts'
import { cancelScheduledMessage } from './cancellation.ts'
import * as c from './contract.ts'
import { presentMessage } from './message-presenter.ts'
import * as ways from './message-trace-store.ts'
import { presentMessages } from './mms/media-presenter.ts'
import { checkLength, fetchFiles, sendFetched, sendMessage, sendTimeOf } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const presentChannel = (row: store.ChannelRow) => ({
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

/** Parses the id of an outbound or inbound message. */
const messageId = (printed: string): string =>
  parse('SMO', printed) ?? parse('SMI', printed) ?? refuse(refusals.unknownMessage(printed))

/** Returns the message if its direction matches the prefix of the printed id. */
const withPrintedDirection = <Row extends store.MessageRow>(row: Row | null, printed: string): Row =>
  row && presentMessage(row).uuid.slice(0, 3) === printed.slice(0, 3) ? row : refuse(refusals.unknownMessage(printed))

const momentOf = (given: string | undefined): Date | null => (given === undefined ? null : new Date(given))

/** Returns a contact as stored: in E.164 if possible, otherwise the sender's short code or name. */
const contactOf = (given: string): string => e164(given) ?? (given.startsWith('+') ? phoneNumber(given) : given)

/** Returns the message of a request. @throws Problem 400, 422 */
const messageOfBody = (clock: Services['clock'], body: Static<typeof c.sendSms.body>) => {
  if (body.text === '' && body.media_urls === undefined) throw refusals.textEmpty()
  const text = checkLength(body.text)
  const sendAt = sendTimeOf(clock, body.send_at)
  return { from: phoneNumber(body.from_number), to: phoneNumber(body.to_number), text, sendAt }
}

const channelCursors = cursorsOf(c.listSmsChannels)
const threadCursors = cursorsOf(c.getSmsThread)
const listCursors = cursorsOf(c.listSmsMessages)

export const smsRoutes = (parts: Services) => {
  const { db, clock } = parts
  const { media } = parts.chat
  const presentOne = async (sql: Sql, account: string, row: store.MessageRow) => {
    const [message] = await presentMessages(media, sql, account, [row])
    return message ?? presentMessage(row)
  }
  const channelOf = async (account: string, printed: string) => {
    const id = parse('SMS', printed)
    return (id && (await store.channel(db, account, id))) || refuse(refusals.unknownChannel(printed))
  }

  /** Finds a message that a reader may see. @throws Problem 404 */
  const messageOf = async (sql: Sql, call: NarrowingCall, printed: string) => {
    const row = withPrintedDirection(await store.message(sql, call.account.id, messageId(printed)), printed)
    const narrowing = await narrowingOf(sql, call)
    return (await isHidden(sql, narrowing, [row.contact])) ? refuse(refusals.unknownMessage(printed)) : row
  }

  return [
    routeHotPathWithRarePreparation(
      c.sendSms,
      ({ body }) => body.media_urls !== undefined,
      ({ account, body }) =>
        fetchFiles(parts, account, { urls: body.media_urls ?? [], check: () => messageOfBody(clock, body) }),
      async ({ account, body, tx, prepared }) => {
        const message = messageOfBody(clock, body)
        const id = prepared
          ? (await sendFetched(parts, tx, account, message, prepared)).id
          : await sendMessage(parts, tx, account, message)
        return ok({ message_uuid: print('SMO', id) })
      },
    ),

    routeWithoutTransaction(c.previewSms, async ({ account, body }) => {
      const plan = quoteFor(parts, account, phoneNumber(body.to_number))
      const { encoding, parts: texts, forcedBy, price, each } = preview(checkLength(body.text), plan)
      return ok({
        encoding,
        ...(forcedBy === null ? {} : { forced_by: forcedBy }),
        fragments: texts.length,
        parts: texts,
        price: dollars(price),
        price_per_fragment: dollars(each),
      })
    }),

    route(c.listSmsChannels, async ({ account, query }) => {
      const asked = optionalPage(query, channelCursors.key(query.cursor))
      const found = await store.channels(db, account.id, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => channelCursors.write({ time: at, id }))
      const total =
        asked.limit === null ? { total: found.length } : totalFields(await store.channelTotal(db, account.id))
      return ok({ ...fields, ...total, channels: rows.map(presentChannel) })
    }),

    route(c.getSmsChannel, async ({ account, params }) =>
      ok({ channel: presentChannel(await channelOf(account.id, params.channel_uuid)) }),
    ),

    route(c.getSmsThread, async ({ params, query, ...call }) => {
      const { account } = call
      const contact = contactOf(params.contact_number)
      const channel = await channelOf(account.id, params.channel_uuid)
      const before = query.before_ts === undefined ? undefined : new Date(query.before_ts * 1_000).toISOString()
      const asked = requestedPage(query, threadCursors.key(query.cursor), boundOf(before))
      // A thread that the reader may not see is answered as one without messages.
      const isEmpty = await isHidden(db, await narrowingOf(db, call), [contact])
      const found = isEmpty ? [] : await store.thread(db, channel, contact, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => threadCursors.write({ time: at, id }))
      return ok({
        ...fields,
        // The total is counted only for pages by number.
        ...(isNumbered(query) ? totalFields(isEmpty ? 0 : await store.threadTotal(db, channel, contact)) : {}),
        messages: (await presentMessages(media, db, account.id, rows)).reverse(),
      })
    }),

    route(c.listSmsMessages, async ({ query, ...call }) => {
      const { account } = call
      const channel = query.channel_uuid === undefined ? null : (await channelOf(account.id, query.channel_uuid)).id
      const filter = {
        channel,
        contact: query.contact_number === undefined ? null : contactOf(query.contact_number),
        // Inbound messages need no look-up of a sender.
        direction: query.direction ?? (query.user_uuid === undefined ? null : 'outbound'),
        status: query.status ?? null,
        error: query.error_code ?? null,
        user: query.user_uuid === undefined ? null : await requireUser(db, account.id, query.user_uuid),
        since: momentOf(query.since),
        narrowing: await narrowingOf(db, call),
      }
      const until = boundOf(query.until)
      const asked = requestedPage(query, listCursors.key(query.cursor), until)
      const { rows: found, examined } = await store.page(db, account.id, filter, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => listCursors.write({ time: at, id }))
      const counted = isNumbered(query) ? await store.pageTotal(db, account.id, filter, until) : null
      return ok({
        ...(examined === null ? {} : { next_cursor: listCursors.write(examined) }),
        ...fields,
        ...(counted === null ? {} : totalFields(counted.total, counted.isCut)),
        messages: await presentMessages(media, db, account.id, rows),
      })
    }),

    route(c.getSmsMessage, async ({ params, ...call }) =>
      ok({ message: await presentOne(db, call.account.id, await messageOf(db, call, params.message_uuid)) }),
    ),

    route(c.cancelSms, async ({ params: { message_uuid: printed }, tx, ...call }) => {
      const { account } = call
      const { id } = await messageOf(tx, call, printed)
      // A message that a worker has claimed is sent.
      const isOurs = await cancelJob(tx, id)
      const canceled = isOurs && (await cancelScheduledMessage(tx, account.id, id))
      if (!canceled) throw refusals.notScheduled(printed)
      const row = withPrintedDirection(await store.message(tx, account.id, id), printed)
      return ok({ message: await presentOne(tx, account.id, row) })
    }),

    route(c.inspectMessage, async ({ params: { message_uuid: printed } }) => {
      const row = withPrintedDirection(await ways.find(db, messageId(printed)), printed)
      const [pieces, attempts] = await Promise.all([ways.parts(db, row), ways.attempts(db, row)])
      return ok({
        account_uuid: print('ACC', row.account_id),
        channel_uuid: print('SMS', row.channel_id),
        message: presentMessage(row),
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
