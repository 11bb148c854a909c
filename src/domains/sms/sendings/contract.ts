import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, pageFields, pagingQuery, Time } from '../../../platform/http/schema.ts'
import { maxSendingBytes, maxSendingMessages, maxTextLength } from '../limits.ts'
import { type SendingStatus, sendingStatuses } from './statuses.ts'

const sms = { auth: 'account', shape: 'brief', tag: 'SMS' } as const

// Numbers and texts are checked message by message, so that a fault refuses its message alone.
const Text = Type.String({
  description: `1 to ${maxTextLength.toLocaleString('en')} UTF-16 units`,
  examples: ['Hello from Trunkline'],
})
const Recipient = Type.String({ description: 'The recipient, E.164', examples: ['+447700900123'] })
const Sender = Type.String({
  description: 'An SMS-capable number of the account, E.164',
  examples: ['+447700900001'],
})

const Outcome = Named(
  'SentMessage',
  Type.Object(
    {
      message_uuid: Type.Optional(Id('SMO', 'Only of an accepted message')),
      status: Type.Optional(
        Type.Integer({
          description: 'Only of a refused message, as all that follow: the status of POST /open/sms/send',
        }),
      ),
      error_code: Type.Optional(Type.String({ examples: ['insufficient_balance'] })),
      error_message: Type.Optional(Type.String()),
      field: Type.Optional(Type.String({ description: 'JSON pointer of the field at fault' })),
    },
    { description: 'The id of an accepted message, or the error that refused it' },
  ),
)

export const sendManySms = contract({
  ...sms,
  id: 'sendManySms',
  client: 'sms.sendMany',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/send-many',
  summary: `Send up to ${maxSendingMessages.toLocaleString('en')} SMS in one request: one text to many, or a text each`,
  description:
    'Each message is decided in order, as one of POST /open/sms/send would be, and refused alone. ' +
    'The accepted ones form a sending, which can be followed, paused and canceled. ' +
    'Each message counts as one request of the account.',
  bodyLimit: maxSendingBytes,
  body: Named(
    'MessagesToSend',
    Type.Object(
      {
        from_number: Type.Optional(Type.String({ ...Sender, description: 'The sender of messages that name none' })),
        text: Type.Optional(Type.String({ ...Text, description: 'The text of messages that have none' })),
        to_numbers: Type.Optional(
          Type.Array(Recipient, {
            minItems: 1,
            maxItems: maxSendingMessages,
            description: 'Either these recipients of one text, or messages. A repeated one gets a message each time',
          }),
        ),
        messages: Type.Optional(
          Type.Array(
            Named(
              'MessageToSend',
              Type.Object({
                to_number: Recipient,
                text: Type.Optional(Text),
                from_number: Type.Optional(Sender),
              }),
            ),
            { minItems: 1, maxItems: maxSendingMessages },
          ),
        ),
      },
      {
        examples: [
          {
            from_number: '+447700900001',
            text: 'We open at nine tomorrow',
            to_numbers: ['+447700900123', '+447700900124'],
          },
        ],
      },
    ),
  ),
  status: 202,
  reply: Named(
    'SentMessages',
    Ok({
      sending_uuid: Type.Optional(Id('SND', 'Absent if no message was accepted')),
      accepted: Type.Integer(),
      refused: Type.Integer(),
      balance_ended_at: Type.Optional(
        Type.Integer({
          description:
            'Index of the first message that the balance does not cover. A cheaper one after it may be accepted',
        }),
      ),
      messages: Type.Array(Outcome, { description: 'In the order of the request' }),
    }),
  ),
  codes: { invalid: ['messages_required', 'messages_over_rate'], balance: ['key_spend_limit'] },
  errors: {
    forbidden: 'The account is blocked',
    balance: 'The key may spend no more today, and nothing is accepted',
    tooLarge: 'The body is larger than 8 MiB',
    unavailable:
      'Too many messages are waiting to be accepted, the database cannot be reached, or the server is overloaded or stopping',
  },
})

const State = Enum(['running', 'paused', 'canceled', 'completed'], {
  description:
    'completed: nothing is left to submit. A sending counts as completed within seconds. ' +
    'paused and canceled: messages whose submit has begun are still sent',
})

const sendingFields = {
  uuid: Id('SND'),
  state: State,
  from_number: Type.String({ description: 'Sender of the first message', examples: ['+447700900001'] }),
  text: Confidential(Type.String({ description: 'Text of the first message' })),
  accepted: Type.Integer({ description: 'Messages that were accepted' }),
  refused: Type.Integer({ description: 'Messages of the request that were refused' }),
  price: Type.Number({ description: 'USD, of all accepted messages; refunds are not subtracted' }),
  created_at: Time,
  updated_at: Time,
}

const Sending = Named('SmsSending', Type.Object(sendingFields))

/** A count for each status. */
const countProperties = Object.fromEntries(sendingStatuses.map((status) => [status, Type.Integer()])) as {
  // The object has exactly these keys.
  readonly [status in SendingStatus]: ReturnType<typeof Type.Integer>
}

const SendingProgress = Named(
  'SmsSendingProgress',
  Type.Object({
    ...sendingFields,
    counts: Named(
      'SmsSendingCounts',
      Type.Object(countProperties, { description: 'Accepted messages by their status now' }),
    ),
  }),
)

const SendingReply = Named('SmsSendingReply', Ok({ sending: SendingProgress }))

export const listSmsSendings = contract({
  ...sms,
  id: 'listSmsSendings',
  csv: 'sendings',
  client: 'sendings.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/sendings',
  summary: 'List the sendings of the account, newest first',
  description: 'A sending is the accepted messages of one POST /open/sms/send-many. GET one for its progress.',
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Named('SmsSendings', Ok({ ...pageFields, sendings: Type.Array(Sending) })),
  errors: {},
  cli: 'sendings list',
})

const one = { params: Type.Object({ sending_uuid: Id('SND') }) }
const unknown = 'No such sending of the account'

export const getSmsSending = contract({
  ...sms,
  ...one,
  id: 'getSmsSending',
  client: 'sendings.get',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/sendings/:sending_uuid',
  summary: 'One sending, with the number of its messages in each status',
  description: 'Messages name their sending in sending_uuid.',
  status: 200,
  reply: SendingReply,
  errors: { notFound: unknown },
  cli: 'sendings show',
})

const ended = 'The sending is completed or canceled (sending_ended)'

const change = {
  ...sms,
  ...one,
  needs: 'inbox',
  method: 'POST',
  status: 200,
  reply: SendingReply,
  errors: { notFound: unknown, conflict: ended },
} as const

export const pauseSmsSending = contract({
  ...change,
  id: 'pauseSmsSending',
  client: 'sendings.pause',
  url: '/open/sms/sendings/:sending_uuid/pause',
  summary: 'Pause a sending: hold the messages that are not submitted yet',
  description:
    'Workers stop within a second. The validity of a message counts from its acceptance: one that is held longer expires and is refunded.',
  cli: 'sendings pause',
})

export const resumeSmsSending = contract({
  ...change,
  id: 'resumeSmsSending',
  client: 'sendings.resume',
  url: '/open/sms/sendings/:sending_uuid/resume',
  summary: 'Resume a paused sending',
  description: 'The held messages are submitted from now on. Nothing happens to a sending that is running.',
  cli: 'sendings resume',
})

export const cancelSmsSending = contract({
  ...change,
  id: 'cancelSmsSending',
  client: 'sendings.cancel',
  url: '/open/sms/sendings/:sending_uuid/cancel',
  summary: 'Cancel a sending: end and refund the messages that are not submitted yet',
  description:
    'Each canceled message is an event sms.message.failed with the status canceled. ' +
    'Messages that a worker holds follow within a second.',
  cli: 'sendings cancel',
})
