import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Named } from '../../../platform/http/schema.ts'
import { AccountSid, accountPath, compatGroup, Method, Nullable, Rfc2822, Url } from '../compat-schemas.ts'

const change = { ...compatGroup('Twilio: calls'), needs: 'inbox', audited: true } as const

const text = Type.String()

const Stream = Named(
  'TwilioStream',
  Type.Object({
    sid: Type.String({ examples: ['MZ01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: text,
    call_sid: text,
    name: Nullable(text),
    status: Enum(['in-progress', 'stopped']),
    date_updated: Rfc2822,
    uri: text,
  }),
)

const CallSid = Type.String({
  maxLength: 100,
  description: 'CA and the 32 digits of the call’s uuid',
  examples: ['CA01a1fcca93ab7cbc9f10be702f775479'],
})

const common = {
  codes: { unavailable: ['no_voice'] },
  errors: {
    invalid: 'The call is not in progress, or no program runs it (21220); or an address is refused (21205)',
    notFound: 'No such call of the account',
    notSupported: 'The call is on the messaging app (20406)',
    unavailable: 'No process runs calls (20503)',
  },
} as const

export const createStream = contract({
  ...change,
  ...common,
  id: 'twilioCreateStream',
  method: 'POST',
  url: `${accountPath}/Calls/:CallSid/Streams`,
  summary: 'Stream the sound of a call that a program runs to a WebSocket',
  description:
    'The stream goes on in the background, until it is stopped or the call ends. Parameter1.Name and Parameter1.Value, up to ' +
    'Parameter99, are values that its first frame carries.',
  form: true,
  waits: true,
  params: Type.Object({ AccountSid, CallSid }),
  body: Type.Object(
    {
      Url: Type.Optional(Url('Address of a WebSocket: wss:')),
      Name: Type.Optional(Type.String({ maxLength: 64, description: 'Stops the stream in place of its SID' })),
      Track: Type.Optional(
        Type.Unsafe<'inbound_track' | 'outbound_track' | 'both_tracks'>({
          type: 'string',
          enum: ['inbound_track', 'outbound_track', 'both_tracks', ''],
          description: 'Default: inbound_track',
        }),
      ),
      StatusCallback: Type.Optional(Url('Gets the begin, the end and the errors of the stream')),
      StatusCallbackMethod: Type.Optional(Method),
    },
    { examples: [{ Url: 'wss://example.com/sound' }] },
  ),
  status: 201,
  reply: Stream,
})

export const updateStream = contract({
  ...change,
  ...common,
  id: 'twilioUpdateStream',
  method: 'POST',
  url: `${accountPath}/Calls/:CallSid/Streams/:Sid`,
  summary: 'Stop a stream of a call',
  description: 'Sid is the SID of the stream, or its name. Status is stopped.',
  form: true,
  waits: true,
  params: Type.Object({
    AccountSid,
    CallSid,
    Sid: Type.String({
      maxLength: 100,
      description: 'MZ and the 32 digits of the stream’s uuid, or its name',
      examples: ['MZ01a1fcca93ab7cbc9f10be702f775479'],
    }),
  }),
  body: Type.Object({ Status: Type.Optional(Type.Unsafe<'stopped'>({ type: 'string', enum: ['stopped'] })) }),
  status: 200,
  reply: Stream,
})
