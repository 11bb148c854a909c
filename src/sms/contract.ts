import { Type } from 'typebox'
import { Confidential } from '../http/confidential.ts'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, listed, Ok, Phone, paging, Time } from '../http/schema.ts'

const sms = { auth: 'account', shape: 'brief', tag: 'SMS' } as const

const Channel = Type.Object({
  uuid: Id('SMS'),
  account_uuid: Id('ACC'),
  voip_number_setup_uuid: Id('DID'),
  phone_number: Type.String({ examples: ['+447700900001'] }),
  friendly_name: Type.String(),
  iso_country_code: Type.String({ examples: ['GB'] }),
  supports_sms_in: Type.Boolean(),
  supports_sms_out: Type.Boolean(),
  enabled: Type.Boolean(),
  created_at: Time,
  updated_at: Time,
})

const Message = Type.Object({
  uuid: Type.String({ description: 'SMI… inbound, SMO… outbound' }),
  destination: Type.String(),
  source: Type.String(),
  text: Confidential(Type.String()),
  direction: Enum(['inbound', 'outbound']),
  fragments: Type.Optional(Type.Integer({ description: 'Outbound only: segments' })),
  price: Type.Number({ description: 'USD' }),
  voip_number_setup_id: Type.Integer(),
  status: Enum([
    'received',
    'scheduled',
    'queued',
    'sending',
    'sent',
    'delivered',
    'undelivered',
    'rejected',
    'expired',
    'failed',
    'canceled',
    'unknown',
  ]),
  sub_status: Type.Optional(
    Type.String({
      description:
        'Sent: what the last receipt said (enroute, accepted, unknown), or no_receipt. Received: incomplete when parts never came',
    }),
  ),
  error_code: Type.Optional(Type.String()),
  send_at: Type.Optional(Time),
  created_at: Time,
  updated_at: Time,
  timestamp: Type.Integer({ description: 'Unix seconds' }),
})

const Text = Type.String({
  minLength: 1,
  description: 'At most 1,600 UTF-16 units; 160 characters a segment in the GSM alphabet, 70 otherwise',
  examples: ['Hello from Trunkline'],
})

const refusedDestination = 'A number is not E.164, to_number is in the US (a2p_us_unsupported), or has no price'

export const sendSms = contract({
  ...sms,
  id: 'sendSms',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/send',
  summary: 'Send an SMS from a number of the account',
  body: Type.Object({
    from_number: Phone('A number of the account with SMS, E.164'),
    to_number: Phone('The recipient, E.164'),
    text: Text,
    send_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Not before this time, at most a year ahead; one that has passed is now',
        examples: ['2026-11-21T09:00:00Z'],
      }),
    ),
  }),
  status: 202,
  reply: Ok({ message_uuid: Type.String({ examples: ['SMO01a1fcca-93ab-7cbc-9f10-be702f775479'] }) }),
  errors: {
    notFound: 'from_number is no number of the account with SMS',
    unprocessable: refusedDestination,
    forbidden:
      'The account is blocked, the number is suspended (number_suspended), or the recipient answered STOP to it (opted_out)',
    balance: 'The balance does not cover the price',
  },
})

export const previewSms = contract({
  ...sms,
  id: 'previewSms',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/preview',
  summary: 'What a text would be sent as, and cost; nothing is sent',
  body: Type.Object({ to_number: Phone('The recipient, E.164'), text: Text }),
  status: 200,
  reply: Ok({
    encoding: Enum(['gsm7', 'ucs2'], { description: 'The GSM 7-bit alphabet, or UCS-2 for all others' }),
    forced_by: Type.Optional(
      Type.String({ description: 'The first character outside the GSM alphabet', examples: ['я'] }),
    ),
    fragments: Type.Integer({ description: 'Segments that it is sent and paid as' }),
    parts: Type.Array(Type.String(), { description: 'The text of each segment' }),
    price: Type.Number({ description: 'USD' }),
    price_per_fragment: Type.Number({ description: 'USD' }),
  }),
  errors: { unprocessable: refusedDestination },
})

const unknownChannel = 'The channel does not exist or is not the account’s'

export const listSmsChannels = contract({
  ...sms,
  id: 'listSmsChannels',
  needs: 'read_only',
  method: 'GET',
  url: '/open/sms/channels',
  summary: 'The SMS channels of the account; all of them unless a page is asked for',
  query: Type.Object(paging),
  status: 200,
  reply: Ok({ ...listed, channels: Type.Array(Channel) }),
  errors: {},
})

export const getSmsChannel = contract({
  ...sms,
  id: 'getSmsChannel',
  needs: 'read_only',
  method: 'GET',
  url: '/open/sms/channel/:channel_uuid',
  summary: 'One SMS channel',
  params: Type.Object({ channel_uuid: Id('SMS') }),
  status: 200,
  reply: Ok({ channel: Channel }),
  errors: { notFound: unknownChannel },
})

export const getSmsThread = contract({
  ...sms,
  id: 'getSmsThread',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/messages/:channel_uuid/:contact_number',
  summary: 'The messages of a channel with a contact, oldest to newest',
  params: Type.Object({
    channel_uuid: Id('SMS'),
    contact_number: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The contact: a number in E.164, a short code, or the name of an alphanumeric sender',
      examples: ['+447700900123'],
    }),
  }),
  query: Type.Object({
    ...paging,
    before_ts: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 99_999_999_999,
        description: 'Unix seconds; only messages older than this. Pass the timestamp of the earliest message held',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'next_cursor of the page before; exact where several share a second',
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    count: listed.count,
    page: listed.page,
    total: Type.Optional(
      Type.Integer({ description: 'All messages with the contact; where a page was asked for by its number' }),
    ),
    messages: Type.Array(Message),
    next_cursor: Type.Optional(Type.String({ description: 'For the page of older messages; absent on the last one' })),
  }),
  errors: { notFound: unknownChannel, unprocessable: 'contact_number begins with + and is not E.164' },
})

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

export const listSmsMessages = contract({
  ...sms,
  id: 'listSmsMessages',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/messages',
  summary: 'The messages of the account, newest first',
  query: Type.Object({
    channel_uuid: Type.Optional(Id('SMS')),
    direction: Type.Optional(Enum(['inbound', 'outbound'])),
    status: Type.Optional(Message.properties.status),
    since: Moment,
    until: Moment,
    ...paging,
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
  }),
  status: 200,
  reply: Ok({
    count: listed.count,
    page: listed.page,
    total: Type.Optional(Type.Integer({ description: 'All matches; where a page was asked for by its number' })),
    messages: Type.Array(Message),
    next_cursor: Type.Optional(Type.String({ description: 'For the page of older messages; absent on the last one' })),
  }),
  errors: { notFound: unknownChannel },
})

export const getSmsMessage = contract({
  ...sms,
  id: 'getSmsMessage',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/message/:message_uuid',
  summary: 'One SMS',
  params: Type.Object({
    message_uuid: Type.String({ pattern: '^SM[IO]', maxLength: 64, description: 'SMI… or SMO…' }),
  }),
  status: 200,
  reply: Ok({ message: Message }),
  errors: { notFound: 'No such message of the account' },
})

export const cancelSms = contract({
  ...sms,
  id: 'cancelSms',
  needs: 'inbox',
  method: 'DELETE',
  url: '/open/sms/message/:message_uuid',
  summary: 'Take back an SMS whose time (send_at) has not come; its price is paid back',
  params: Type.Object({ message_uuid: Id('SMO') }),
  status: 200,
  reply: Ok({ message: Message }),
  errors: {
    notFound: 'No such message of the account',
    conflict: 'It is not scheduled any more: its time has come, or it was canceled',
  },
})

const Candidate = Type.Object({
  connection_uuid: Id('CNX'),
  name: Type.String(),
  prefix: Type.String({ description: 'The leading digits by which it was chosen; empty is every destination' }),
  priority: Type.Integer(),
  weight: Type.Integer(),
})

export const inspectMessage = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: messages',
  id: 'inspectMessage',
  method: 'GET',
  url: '/operator/messages/:message_uuid',
  summary: 'One SMS of any account: which way it went and why, its parts, and what carriers answered',
  params: Type.Object({
    message_uuid: Type.String({ pattern: '^SM[IO]', maxLength: 64, description: 'SMI… or SMO…' }),
  }),
  status: 200,
  reply: Ok({
    account_uuid: Id('ACC'),
    channel_uuid: Id('SMS'),
    message: Message,
    candidates: Type.Array(Candidate, {
      description: 'Connections that could carry it when it was accepted: longest prefix first, then lowest priority',
    }),
    parts: Type.Array(
      Type.Object({
        part: Type.Integer(),
        connection_uuid: Id('CNX'),
        carrier_id: Type.Optional(Type.String({ description: 'As the carrier wrote it' })),
        status: Type.String(),
        error_code: Type.Optional(Type.String()),
        sent_at: Time,
        updated_at: Time,
      }),
    ),
    attempts: Type.Array(
      Type.Object({
        part: Type.Integer(),
        connection_uuid: Id('CNX'),
        outcome: Enum(['retry', 'refused', 'unknown']),
        reason: Type.String({ examples: ['ESME_RINVDSTADR'] }),
        at: Time,
      }),
      { description: 'Submits that did not end with the carrier taking the part' },
    ),
  }),
  errors: { notFound: 'No such message' },
  cli: 'messages show',
})
