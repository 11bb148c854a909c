import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { AnyId, Enum, Id, Named, Ok, Phone, pageFields, pagingQuery, Time } from '../../platform/http/schema.ts'
import { maxMediaFiles, maxMediaUrlLength } from './limits.ts'
import { sendingStatuses } from './sendings/statuses.ts'

const sms = { auth: 'account', shape: 'brief', tag: 'SMS' } as const

const Channel = Named(
  'SmsChannel',
  Type.Object({
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
  }),
)

const Media = Named(
  'SmsMedia',
  Type.Object({
    url: Type.Optional(
      Type.String({
        description: 'Temporary link to the file, which may still be fetched; absent if it is not available',
      }),
    ),
    type: Enum(['image', 'video', 'audio', 'document']),
    mime_type: Type.String({ examples: ['image/jpeg'] }),
    name: Type.Optional(Type.String()),
    size: Type.Optional(Type.Integer({ description: 'Bytes' })),
    error: Type.Optional(Type.String({ description: 'Why the file is not available' })),
  }),
)

const Message = Named(
  'SmsMessage',
  Type.Object({
    uuid: Type.String({ description: 'SMI… inbound, SMO… outbound' }),
    destination: Type.String(),
    source: Type.String(),
    text: Confidential(Type.String()),
    media: Type.Optional(
      Type.Array(Media, { description: 'Files of an MMS, in order. Absent in events of sent messages' }),
    ),
    direction: Enum(['inbound', 'outbound']),
    fragments: Type.Optional(Type.Integer({ description: 'Outbound only: segments' })),
    price: Type.Number({ description: 'USD' }),
    voip_number_setup_id: Type.Integer(),
    status: Enum(['received', 'scheduled', ...sendingStatuses]),
    sub_status: Type.Optional(
      Type.String({
        description:
          'Sent: state of the last receipt (enroute, accepted, unknown), or no_receipt. Received: incomplete if parts never arrived, blocked if the sender is a blocked contact',
      }),
    ),
    error_code: Type.Optional(Type.String()),
    send_at: Type.Optional(Time),
    sending_uuid: Type.Optional(Id('SND', 'The sending, if one request sent it together with others')),
    created_at: Time,
    updated_at: Time,
    timestamp: Type.Integer({ description: 'Unix seconds' }),
  }),
)

const Text = Type.String({
  minLength: 1,
  description: 'At most 1,600 UTF-16 units; 160 characters a segment in the GSM alphabet, 70 otherwise',
  examples: ['Hello from Trunkline'],
})

const refusedDestination = 'A number is not E.164, to_number is in the US (a2p_us_unsupported), or has no price'

export const sendSms = contract({
  ...sms,
  id: 'sendSms',
  client: 'sms.send',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/send',
  summary: 'Send an SMS from a number of the account',
  description:
    'The price is charged when the message is accepted. ' +
    'Status changes are the events sms.message.sent, sms.message.delivered and sms.message.failed.',
  body: Type.Object({
    from_number: Phone('An SMS-capable number of the account, E.164'),
    to_number: Phone('The recipient, E.164'),
    text: Type.String({
      description:
        'At most 1,600 UTF-16 units; 160 characters a segment in the GSM alphabet, 70 otherwise. May be empty with media_urls',
      examples: ['Hello from Trunkline'],
    }),
    media_urls: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: maxMediaUrlLength }), {
        minItems: 1,
        maxItems: maxMediaFiles,
        description:
          'Files to send as an MMS, 5 MiB together. They are fetched and stored before the message is accepted',
        examples: [['https://example.com/parcel.jpg']],
      }),
    ),
    send_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Earliest send time, at most a year ahead. A past time means now',
        examples: ['2026-11-21T09:00:00Z'],
      }),
    ),
  }),
  status: 202,
  reply: Ok({ message_uuid: Type.String({ examples: ['SMO01a1fcca-93ab-7cbc-9f10-be702f775479'] }) }),
  codes: { unprocessable: ['destination_not_priced', 'media_unavailable'] },
  errors: {
    notSupported: 'media_urls: no carrier for the recipient takes files',
    notFound: 'from_number is not an SMS-capable number of the account',
    unprocessable: `${refusedDestination}; or a file cannot be fetched (media_unavailable)`,
    forbidden:
      'The account is blocked, the number is suspended (number_suspended) or a sandbox number (sandbox_number), or the recipient has opted out (opted_out)',
    balance: 'The balance does not cover the price, or the key may spend no more today (key_spend_limit)',
  },
})

export const previewSms = contract({
  ...sms,
  id: 'previewSms',
  unrecorded: true,
  client: 'sms.preview',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/preview',
  summary: 'Preview the encoding, segments and price of an SMS without sending it',
  description: 'Nothing is sent or charged. The price is the one that sendSms would charge now.',
  body: Type.Object({ to_number: Phone('The recipient, E.164'), text: Text }),
  status: 200,
  reply: Ok({
    encoding: Enum(['gsm7', 'ucs2'], { description: 'The GSM 7-bit alphabet, or UCS-2 for all others' }),
    forced_by: Type.Optional(
      Type.String({ description: 'The first character outside the GSM alphabet', examples: ['я'] }),
    ),
    fragments: Type.Integer({ description: 'Number of segments that are sent and charged' }),
    parts: Type.Array(Type.String(), { description: 'The text of each segment' }),
    price: Type.Number({ description: 'USD' }),
    price_per_fragment: Type.Number({ description: 'USD' }),
  }),
  codes: { unprocessable: ['destination_not_priced'] },
  errors: { unprocessable: refusedDestination },
})

const unknownChannel = 'The channel does not exist or is not the account’s'

export const listSmsChannels = contract({
  ...sms,
  id: 'listSmsChannels',
  csv: 'channels',
  client: 'sms.channels',
  needs: 'read_only',
  method: 'GET',
  url: '/open/sms/channels',
  summary: 'List the SMS channels of the account; all of them without paging parameters',
  description: 'Each number with SMS has one channel. Channels of released numbers stay readable.',
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Ok({ ...pageFields, channels: Type.Array(Channel) }),
  errors: {},
})

export const getSmsChannel = contract({
  ...sms,
  id: 'getSmsChannel',
  client: 'sms.channel',
  needs: 'read_only',
  method: 'GET',
  url: '/open/sms/channel/:channel_uuid',
  summary: 'One SMS channel',
  description: 'Each number with SMS has one channel. Use its uuid to read messages and to subscribe to events.',
  params: Type.Object({ channel_uuid: AnyId('SMS') }),
  status: 200,
  reply: Ok({ channel: Channel }),
  errors: { notFound: unknownChannel },
})

const ContactNumber = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The contact: a number in E.164, a short code, or the name of an alphanumeric sender',
  examples: ['+447700900123'],
})

export const getSmsThread = contract({
  ...sms,
  id: 'getSmsThread',
  csv: 'messages',
  client: 'sms.thread',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/messages/:channel_uuid/:contact_number',
  summary: 'The messages of a channel with a contact, oldest to newest',
  description: 'The first page has the latest messages. Pass the next_cursor of a page to read older ones.',
  params: Type.Object({
    channel_uuid: AnyId('SMS'),
    contact_number: ContactNumber,
  }),
  query: Type.Object({
    ...pagingQuery,
    before_ts: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 99_999_999_999,
        description: 'Unix seconds; only older messages. Pass the timestamp of the earliest message that you have',
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    count: pageFields.count,
    page: pageFields.page,
    total: Type.Optional(
      Type.Integer({
        description: 'Number of messages with the contact, at most 10,000; present with page_number or page',
      }),
    ),
    total_capped: pageFields.total_capped,
    messages: Type.Array(Message),
    next_cursor: Type.Optional(Type.String({ description: 'For the page of older messages; absent on the last one' })),
  }),
  errors: { notFound: unknownChannel, unprocessable: 'contact_number begins with + and is not E.164' },
})

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

export const listSmsMessages = contract({
  ...sms,
  id: 'listSmsMessages',
  csv: 'messages',
  client: 'sms.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/messages',
  summary: 'The messages of the account, newest first',
  description:
    'Filter by channel, contact, direction, status, error code, sender in the inbox and time. ' +
    'A page with a filter examines 10,000 messages, so a short page may have a next_cursor.',
  query: Type.Object({
    channel_uuid: Type.Optional(Id('SMS')),
    contact_number: Type.Optional(ContactNumber),
    direction: Type.Optional(Enum(['inbound', 'outbound'])),
    status: Type.Optional(Message.properties.status),
    error_code: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'As in the messages', examples: ['ESME_RINVDSTADR'] }),
    ),
    user_uuid: Type.Optional(Id('USR', 'Messages that this user sent in the inbox')),
    since: Moment,
    until: Moment,
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({
    count: pageFields.count,
    page: pageFields.page,
    total: Type.Optional(
      Type.Integer({
        description:
          'Number of matches, at most 10,000; with a filter, among the newest 10,000 messages. Present with page_number or page',
      }),
    ),
    total_capped: pageFields.total_capped,
    messages: Type.Array(Message),
    next_cursor: Type.Optional(Type.String({ description: 'For the page of older messages; absent on the last one' })),
  }),
  errors: {
    notFound: 'The channel or the user does not exist or is not the account’s',
    unprocessable: 'contact_number begins with + and is not E.164',
  },
  cli: 'sms list',
})

export const getSmsMessage = contract({
  ...sms,
  id: 'getSmsMessage',
  client: 'sms.get',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/message/:message_uuid',
  summary: 'One SMS',
  description: 'Read the status here, or subscribe to sms.message.sent, sms.message.delivered and sms.message.failed.',
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
  client: 'sms.cancel',
  needs: 'inbox',
  method: 'DELETE',
  url: '/open/sms/message/:message_uuid',
  summary: 'Cancel and refund an SMS before its send_at',
  description:
    'Only a message with the status scheduled can be canceled. Its price is refunded in the same transaction.',
  params: Type.Object({ message_uuid: Id('SMO') }),
  status: 200,
  reply: Ok({ message: Message }),
  codes: { conflict: ['not_scheduled'] },
  errors: {
    notFound: 'No such message of the account',
    conflict: 'The message is no longer scheduled: its time has come, or it was canceled',
  },
})

const Candidate = Named(
  'RouteCandidate',
  Type.Object({
    connection_uuid: Id('CNX'),
    name: Type.String(),
    prefix: Type.String({
      description: 'Leading digits that selected the connection; empty matches every destination',
    }),
    priority: Type.Integer(),
    weight: Type.Integer(),
  }),
)

export const inspectMessage = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: messages',
  id: 'inspectMessage',
  client: 'messages.inspect',
  method: 'GET',
  url: '/operator/messages/:message_uuid',
  summary: 'Show the route of any account’s SMS: candidates, parts and carrier responses',
  description: 'Use it to find out why a message took a route or failed. The text is masked for observers.',
  params: Type.Object({
    message_uuid: Type.String({ pattern: '^SM[IO]', maxLength: 64, description: 'SMI… or SMO…' }),
  }),
  status: 200,
  reply: Ok({
    account_uuid: Id('ACC'),
    channel_uuid: Id('SMS'),
    message: Message,
    candidates: Type.Array(Candidate, {
      description: 'Candidate connections at acceptance: longest prefix first, then lowest priority',
    }),
    parts: Type.Array(
      Named(
        'SmsPart',
        Type.Object({
          part: Type.Integer(),
          connection_uuid: Id('CNX'),
          carrier_id: Type.Optional(Type.String({ description: 'The carrier’s message id' })),
          status: Type.String(),
          error_code: Type.Optional(Type.String()),
          sent_at: Time,
          updated_at: Time,
        }),
      ),
    ),
    attempts: Type.Array(
      Named(
        'SmsSubmitAttempt',
        Type.Object({
          part: Type.Integer(),
          connection_uuid: Id('CNX'),
          outcome: Enum(['retry', 'refused', 'unknown', 'queried']),
          reason: Type.String({ examples: ['ESME_RINVDSTADR'] }),
          at: Time,
        }),
      ),
      {
        description:
          'Submits that the carrier did not accept. queried: the carrier was asked for a missing receipt, and reason is its answer',
      },
    ),
  }),
  errors: { notFound: 'No such message' },
  cli: 'messages show',
})
