import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Named } from '../../../platform/http/schema.ts'
import {
  accountParams,
  accountPath,
  compatGroup,
  Nothing,
  Nullable,
  Rfc2822,
  sidParams,
  Url,
} from '../compat-schemas.ts'
import { dayFilters } from '../day-filter.ts'
import { maxValiditySeconds } from '../limits.ts'
import { pageQuery, pageReply } from '../list-pages.ts'

const messages = { ...compatGroup('Twilio: messages'), needs: 'inbox' } as const
const messageParams = sidParams('SM', 'SM and the 32 digits of the message’s uuid; MM with media')
const unknownMessage = 'No such message of the account'

const Message = Named(
  'TwilioMessage',
  Type.Object({
    sid: Type.String({ examples: ['SM01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: Type.String(),
    messaging_service_sid: Type.Null(),
    api_version: Type.Literal('2010-04-01'),
    from: Type.String(),
    to: Type.String(),
    body: Confidential(Type.String()),
    direction: Enum(['inbound', 'outbound-api']),
    status: Enum([
      'queued',
      'scheduled',
      'sending',
      'sent',
      'delivered',
      'undelivered',
      'failed',
      'canceled',
      'received',
    ]),
    num_segments: Type.String(),
    num_media: Type.String(),
    price: Nullable(Type.String({ description: 'Negative; null until the status is final' })),
    price_unit: Type.Literal('USD'),
    error_code: Nullable(Type.Integer()),
    error_message: Nullable(Type.String()),
    date_created: Rfc2822,
    date_updated: Rfc2822,
    date_sent: Nullable(Rfc2822),
    uri: Type.String(),
    subresource_uris: Type.Object({ media: Type.String() }),
  }),
)

/** Parameters that would change the meaning and are not offered. */
const refuses = [
  'MessagingServiceSid',
  'ContentSid',
  'ContentVariables',
  'PersistentAction',
  'ApplicationSid',
  'ContentRetention',
  'AddressRetention',
  'RiskCheck',
]

export const createMessage = contract({
  ...messages,
  id: 'twilioCreateMessage',
  method: 'POST',
  url: `${accountPath}/Messages`,
  summary: 'Send a message',
  description:
    'The price is charged when the message is accepted, and refunded if it is not sent. StatusCallback gets each status. ' +
    'An Idempotency-Key prevents a second message when the request is repeated.',
  form: true,
  refuses,
  params: accountParams,
  body: Type.Object(
    {
      To: Type.Optional(Type.String({ maxLength: 100, description: 'E.164', examples: ['+447700900123'] })),
      From: Type.Optional(
        Type.String({ maxLength: 100, description: 'A number of the account, E.164', examples: ['+447700900001'] }),
      ),
      Body: Type.Optional(Type.String({ description: 'At most 1,600 characters' })),
      MediaUrl: Type.Optional(
        Type.Array(Url('Of a file'), { maxItems: 10, description: 'Where the carrier sends MMS' }),
      ),
      StatusCallback: Type.Optional(Url('Gets a POST for each status')),
      ValidityPeriod: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxValiditySeconds,
          description: 'Seconds in which the message must be sent; else it fails and is refunded',
        }),
      ),
      SendAt: Type.Optional(Type.String({ maxLength: 40, description: 'ISO 8601; with ScheduleType=fixed' })),
      ScheduleType: Type.Optional(Type.String({ maxLength: 20, description: 'fixed' })),
      MaxPrice: Type.Optional(Type.Number({ minimum: 0, description: 'USD; a message that costs more is refused' })),
      SmartEncoded: Type.Optional(Type.Boolean({ description: 'Has no effect: the text is sent as it is' })),
      ProvideFeedback: Type.Optional(Type.Boolean({ description: 'Has no effect' })),
      Attempt: Type.Optional(Type.Integer({ description: 'Has no effect' })),
    },
    { examples: [{ To: '+447700900123', From: '+447700900001', Body: 'Hello from Trunkline' }] },
  ),
  status: 201,
  reply: Message,
  codes: { notSupported: ['not_supported'] },
  errors: {
    invalid:
      'A parameter is missing, false or not supported, or a file cannot be fetched (21211, 21212, 21602, 21603, 21604, 21606, 21610, 21617, 21620 …)',
    balance: 'The balance does not cover the price, or the key may spend no more today (20005)',
    forbidden: 'The key lacks the scope inbox, or it may not be used from this address (20403)',
    notSupported: 'No carrier of the route takes files (21612)',
  },
})

export const listMessages = contract({
  ...messages,
  id: 'twilioListMessages',
  method: 'GET',
  url: `${accountPath}/Messages`,
  summary: 'The messages of the account, newest first',
  description: 'Filters are those of Twilio. A page with filters may be short and still have a next_page_uri.',
  params: accountParams,
  query: Type.Object({
    To: Type.Optional(Type.String({ maxLength: 100 })),
    From: Type.Optional(Type.String({ maxLength: 100 })),
    ...dayFilters('DateSent'),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object({ ...pageReply, messages: Type.Array(Message) }),
  errors: {},
})

export const fetchMessage = contract({
  ...messages,
  id: 'twilioFetchMessage',
  method: 'GET',
  url: `${accountPath}/Messages/:Sid`,
  summary: 'One message',
  description: 'Messages of the native interface are found, too: the SID has the digits of their uuid.',
  params: messageParams,
  status: 200,
  reply: Message,
  errors: { notFound: unknownMessage },
})

export const updateMessage = contract({
  ...messages,
  id: 'twilioUpdateMessage',
  method: 'POST',
  url: `${accountPath}/Messages/:Sid`,
  summary: 'Erase the text of a message, or cancel it before its time',
  description:
    'An empty Body erases the text once the status is final. Status=canceled cancels and refunds a scheduled message.',
  form: true,
  params: messageParams,
  body: Type.Object({
    Body: Type.Optional(Type.String({ description: 'Empty' })),
    Status: Type.Optional(Type.Unsafe<'canceled'>({ type: 'string', enum: ['canceled', ''] })),
  }),
  status: 200,
  reply: Message,
  codes: { conflict: ['not_scheduled', 'message_under_way'] },
  errors: {
    notFound: unknownMessage,
    conflict:
      'The message is no longer scheduled (30409), or its text is erased after its status is final only (20009)',
  },
})

export const deleteMessage = contract({
  ...messages,
  id: 'twilioDeleteMessage',
  method: 'DELETE',
  url: `${accountPath}/Messages/:Sid`,
  summary: 'Delete a message',
  description: 'Its text is erased, and this interface no longer shows it. Prices and receipts of the account stay.',
  params: messageParams,
  status: 204,
  reply: Nothing,
  codes: { conflict: ['message_under_way'] },
  errors: { notFound: unknownMessage, conflict: 'The status of the message is not final (20009)' },
})

const Media = Named(
  'TwilioMedia',
  Type.Object({
    sid: Type.String(),
    account_sid: Type.String(),
    parent_sid: Type.String(),
    content_type: Type.String(),
    date_created: Rfc2822,
    date_updated: Rfc2822,
    uri: Type.String(),
    url: Type.String({ description: 'Temporary link to the file, an addition of Trunkline' }),
  }),
)

export const listMedia = contract({
  ...messages,
  id: 'twilioListMedia',
  method: 'GET',
  url: `${accountPath}/Messages/:Sid/Media`,
  summary: 'The media files of a message',
  description: 'Empty for a text message.',
  params: messageParams,
  query: Type.Object(pageQuery),
  status: 200,
  reply: Type.Object({
    ...pageReply,
    media_list: Type.Array(Media),
  }),
  errors: { notFound: unknownMessage },
})

export const fetchMedia = contract({
  ...messages,
  id: 'twilioFetchMedia',
  method: 'GET',
  url: `${accountPath}/Messages/:Sid/Media/:MediaSid`,
  summary: 'A media file of a message',
  description: 'The description alone: url leads to the file.',
  params: Type.Object({ ...messageParams.properties, MediaSid: Type.String({ maxLength: 34, description: 'ME…' }) }),
  status: 200,
  reply: Media,
  errors: { notFound: 'No such file, or no such message of the account' },
})
