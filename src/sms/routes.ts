import { ok, serve, serveFast } from '../http/endpoint.ts'
import { forbidden, invalid, notFound, unprocessable } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { iso, seconds } from '../lib/clock.ts'
import { readCursor, writeCursor } from '../lib/cursor.ts'
import { parse, print, uuid } from '../lib/id.ts'
import { dollars, micros } from '../lib/money.ts'
import { isUs } from '../lib/phone.ts'
import { countParts, isGsm } from '../lib/segments.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const longest = 1600

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

const shownMessage = (row: store.MessageRow) => {
  const outbound = row.direction === 'outbound'
  return {
    uuid: print(outbound ? 'SMO' : 'SMI', row.id),
    destination: outbound ? row.contact : row.number,
    source: outbound ? row.number : row.contact,
    text: row.text,
    direction: row.direction,
    ...(outbound ? { fragments: row.fragments } : {}),
    price: dollars(micros(row.price) ?? 0),
    voip_number_setup_id: row.voip_number_setup_id,
    status: row.status,
    ...(row.sub_status ? { sub_status: row.sub_status } : {}),
    ...(row.error_code ? { error_code: row.error_code } : {}),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    timestamp: seconds(row.created_at),
  }
}

export const smsRoutes = ({ db, accept, channels, prices }: Parts) => {
  const channelOf = async (account: string, printed: string) => {
    const id = parse('SMS', printed)
    return (id && (await store.channel(db, account, id))) || notFound(`SMS channel ${printed} does not exist`)
  }

  return [
    serveFast(c.sendSms, async ({ account, body, tx }) => {
      const { text } = body
      if (text.length > longest) invalid(`text must have at most ${longest} UTF-16 units, and has ${text.length}`)
      const from = phoneNumber(body.from_number)
      const to = phoneNumber(body.to_number)
      if (!account.a2pUs && isUs(to))
        unprocessable('to_number is in the US: A2P messaging to US numbers is not supported', 'a2p_us_unsupported')

      const known = channels.of(account.id, from, tx ?? db)
      const channel =
        (known instanceof Promise ? await known : known) ?? notFound(`${from} is no number of the account with SMS`)
      if (channel.suspended) forbidden(`${from} is suspended`, 'number_suspended')
      if (!channel.supports_sms_out) notFound(`${from} cannot send SMS`)

      const fragments = countParts(text)
      const each =
        prices.of('sms_out', to) ?? unprocessable(`There is no price for SMS to ${to}`, 'destination_not_priced')
      const id = uuid()
      await accept.message(
        {
          account: account.id,
          id,
          channel: channel.id,
          number: from,
          contact: to,
          text,
          encoding: isGsm(text) ? 'gsm7' : 'ucs2',
          fragments,
          price: each * fragments,
        },
        tx,
      )
      return ok({ message_uuid: print('SMO', id) })
    }),

    serve(c.listSmsChannels, async ({ account }) => {
      const rows = await store.channels(db, account.id)
      return ok({ channels: rows.map(shownChannel) })
    }),

    serve(c.getSmsChannel, async ({ account, params }) =>
      ok({ channel: shownChannel(await channelOf(account.id, params.channel_uuid)) }),
    ),

    serve(c.getSmsThread, async ({ account, params, query }) => {
      const contact = phoneNumber(params.contact_number)
      const channel = await channelOf(account.id, params.channel_uuid)
      const limit = query.results_per_page ?? query.per_page ?? 50
      const before = query.before_ts === undefined ? null : new Date(query.before_ts * 1000)
      const after = query.cursor
        ? (readCursor(query.cursor) ?? invalid('cursor must be a next_cursor of this list'))
        : null
      const rows = await store.thread(db, channel, contact, before, after, limit + 1)
      const page = rows.slice(0, limit).reverse()
      const [oldest] = page
      return ok({
        count: page.length,
        messages: page.map(shownMessage),
        ...(rows.length > limit && oldest ? { next_cursor: writeCursor({ time: oldest.at, id: oldest.id }) } : {}),
      })
    }),

    serve(c.getSmsMessage, async ({ account, params }) => {
      const unknown = `SMS ${params.message_uuid} does not exist`
      const id = parse('SMO', params.message_uuid) ?? parse('SMI', params.message_uuid) ?? notFound(unknown)
      const row = (await store.message(db, account.id, id)) ?? notFound(unknown)
      const shown = shownMessage(row)
      if (!params.message_uuid.startsWith(shown.uuid.slice(0, 3))) notFound(unknown)
      return ok({ message: shown })
    }),
  ]
}
