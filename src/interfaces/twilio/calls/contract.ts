import { Type } from 'typebox'
import { callbackEvents } from '../../../domains/applications/ops.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Named } from '../../../platform/http/schema.ts'
import {
  accountParams,
  accountPath,
  compatGroup,
  Method,
  Nothing,
  Nullable,
  Rfc2822,
  sidParams,
  Url,
} from '../compat-schemas.ts'
import { dayFilters } from '../day-filter.ts'
import { maxCallTimeLimit, maxRingTimeout, maxTwimlLength, minRingTimeout } from '../limits.ts'
import { pageQuery, pageReply } from '../list-pages.ts'
import { callStatuses } from './statuses.ts'

const group = compatGroup('Twilio: calls')
const read = { ...group, needs: 'read_only', orNeeds: 'inbox' } as const
const change = { ...group, needs: 'inbox', audited: true } as const

const callParams = sidParams('CA', 'CA and the 32 digits of the call’s uuid')
const unknownCall = 'No such call of the account'

const text = Type.String()

const Call = Named(
  'TwilioCall',
  Type.Object({
    sid: Type.String({ examples: ['CA01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: text,
    parent_call_sid: Nullable(Type.String({ description: 'The call whose Dial made this one' })),
    api_version: Type.Literal('2010-04-01'),
    from: text,
    from_formatted: text,
    to: text,
    to_formatted: text,
    phone_number_sid: Nullable(text),
    status: Enum([...callStatuses]),
    direction: Enum(['inbound', 'outbound-api', 'outbound-dial']),
    start_time: Nullable(Rfc2822),
    end_time: Nullable(Rfc2822),
    duration: Nullable(Type.String({ description: 'Seconds from the answer; null until the end' })),
    price: Nullable(Type.String({ description: 'Negative; null until the end' })),
    price_unit: Type.Literal('USD'),
    answered_by: Type.Null(),
    forwarded_from: Nullable(text),
    caller_name: Type.Null(),
    group_sid: Type.Null(),
    trunk_sid: Type.Null(),
    annotation: Type.Null(),
    queue_time: text,
    date_created: Rfc2822,
    date_updated: Rfc2822,
    uri: text,
    subresource_uris: Type.Object({ recordings: text, streams: text }),
  }),
)

/** Parameters that would change the meaning and are not offered. */
const refuses = [
  ...['Byoc', 'SipAuthUsername', 'SipAuthPassword', 'Trim', 'CallReason', 'CallToken', 'CallerId'],
  ...['MachineDetection*', 'AsyncAmd*', 'RecordingStatusCallback*', 'RecordingChannels', 'RecordingTrack'],
  'ClientNotificationUrl',
]

const program = {
  Url: Type.Optional(Url('Answers with the TwiML of the call')),
  Method: Type.Optional(Method),
  Twiml: Type.Optional(
    Type.String({ maxLength: maxTwimlLength, description: 'The TwiML itself, with full addresses; instead of Url' }),
  ),
  FallbackUrl: Type.Optional(Url('Is requested if Url fails')),
  FallbackMethod: Type.Optional(Method),
}

export const createCall = contract({
  ...change,
  id: 'twilioCreateCall',
  method: 'POST',
  url: `${accountPath}/Calls`,
  summary: 'Make a call',
  description:
    'The call waits in the queue of the account, and its program runs once it is answered. The first minute is held, and each ' +
    'started minute charged. An Idempotency-Key prevents a second call when the request is repeated.',
  form: true,
  refuses,
  waits: true,
  params: accountParams,
  body: Type.Object(
    {
      To: Type.Optional(
        Type.String({ maxLength: 100, description: 'E.164, or client: and a user', examples: ['+447700900123'] }),
      ),
      From: Type.Optional(
        Type.String({ maxLength: 100, description: 'A caller ID of the account, E.164', examples: ['+447700900001'] }),
      ),
      ...program,
      ApplicationSid: Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'An application of the account; instead of Url',
          examples: ['AP01a1fcca93ab7cbc9f10be702f775479'],
        }),
      ),
      StatusCallback: Type.Optional(Url('Gets the statuses of the call')),
      StatusCallbackMethod: Type.Optional(Method),
      StatusCallbackEvent: Type.Optional(
        Type.Array(Type.String({ maxLength: 100 }), {
          maxItems: callbackEvents.length,
          description: `${callbackEvents.join(', ')}. Default: completed`,
        }),
      ),
      SendDigits: Type.Optional(
        Type.String({ maxLength: 64, description: 'Keys to send after the answer; w waits half a second' }),
      ),
      Timeout: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxRingTimeout,
          description: `Seconds of ringing, at least ${minRingTimeout}. Default: 60`,
        }),
      ),
      TimeLimit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxCallTimeLimit, description: 'Seconds of talk. Default: 14,400' }),
      ),
      Record: Type.Optional(Type.Boolean({ description: 'Records both sides from the answer on' })),
    },
    { examples: [{ To: '+447700900123', From: '+447700900001', Twiml: '<Response><Say>Hello</Say></Response>' }] },
  ),
  status: 201,
  reply: Call,
  codes: {
    tooMany: ['too_many_attempts', 'call_queue_full'],
    unavailable: ['no_voice', 'no_trunk'],
    forbidden: ['destination_not_allowed'],
  },
  errors: {
    invalid: 'A parameter is missing, false or not supported (21201, 21211, 21212, 21213, 21205, 21210 …)',
    balance: 'The balance does not cover a minute, or the key may spend no more today (20005)',
    forbidden: 'The key lacks the scope inbox, or the account may not call the number (21215)',
    notFound: 'The account has no such user or application (20404)',
    tooMany: 'The account attempts too many calls a minute, or too many wait (20429)',
    unavailable: 'No process runs calls, or no trunk carries calls to the number (20503)',
  },
})

export const listCalls = contract({
  ...read,
  id: 'twilioListCalls',
  method: 'GET',
  url: `${accountPath}/Calls`,
  summary: 'The calls of the account, newest first',
  description: 'Filters are those of Twilio. A page with filters may be short and still have a next_page_uri.',
  refuses: ['EndTime*'],
  params: accountParams,
  query: Type.Object({
    To: Type.Optional(Type.String({ maxLength: 100 })),
    From: Type.Optional(Type.String({ maxLength: 100 })),
    Status: Type.Optional(Enum([...callStatuses])),
    ParentCallSid: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Calls that the Dial of a call made',
        examples: ['CA01a1fcca93ab7cbc9f10be702f775479'],
      }),
    ),
    ...dayFilters('StartTime'),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object({ ...pageReply, calls: Type.Array(Call) }),
  errors: {},
})

export const fetchCall = contract({
  ...read,
  id: 'twilioFetchCall',
  method: 'GET',
  url: `${accountPath}/Calls/:Sid`,
  summary: 'One call',
  description: 'Calls of the native interface are found, too: the SID has the digits of their uuid.',
  params: callParams,
  status: 200,
  reply: Call,
  errors: { notFound: unknownCall },
})

export const updateCall = contract({
  ...change,
  id: 'twilioUpdateCall',
  method: 'POST',
  url: `${accountPath}/Calls/:Sid`,
  summary: 'End a call, or give it other TwiML',
  description:
    'Status=canceled ends a call that is not answered, Status=completed any. Url or Twiml replace the program of a call in ' +
    'progress at once. Without parameters nothing changes.',
  form: true,
  refuses: ['StatusCallback', 'TimeLimit'],
  waits: true,
  params: callParams,
  body: Type.Object({
    ...program,
    Status: Type.Optional(Type.Unsafe<'canceled'>({ type: 'string', enum: ['canceled', 'completed', ''] })),
  }),
  status: 200,
  reply: Call,
  codes: { conflict: ['call_ended'], unavailable: ['no_voice'] },
  errors: {
    invalid:
      'The call is not in progress (21220), an address is refused (21205), or the TwiML is not valid (12100, 12200)',
    notFound: `${unknownCall}; or Status is given for a call that has ended`,
    conflict: 'The call has ended',
    notSupported: 'The call is on the messaging app (20406)',
    unavailable: 'No process runs calls (20503)',
  },
})

export const deleteCall = contract({
  ...change,
  id: 'twilioDeleteCall',
  method: 'DELETE',
  url: `${accountPath}/Calls/:Sid`,
  summary: 'Delete a call that has ended',
  description: 'This interface no longer shows it. The call history, prices and recordings of the account stay.',
  params: callParams,
  status: 204,
  reply: Nothing,
  codes: { conflict: ['call_in_progress'] },
  errors: { notFound: unknownCall, conflict: 'The call has not ended (20009)' },
})
