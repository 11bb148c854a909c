import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Ok, Phone, Time, WebAddress, WebMethod } from '../../../platform/http/schema.ts'
import { callbackEvents } from '../../applications/ops.ts'
import { getCall } from '../contract.ts'
import { maxCallHeaders, maxCallSeconds, maxRingSeconds, maxWaitingCalls, minRingSeconds } from '../limits.ts'
import { verbSchemas } from '../programs/verbs.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

/** Pattern of the address of a command: a web address, or that of a WebSocket for a stream. */
const commandAddress = '^(?:(?:[hH][tT][tT][pP]|[wW][sS])[sS]?://.|$)'

/** A line break would begin another header. */
const HeaderValue = Type.String({ maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })

/** A list of verbs: their schemas are those of documents, which a program answers too. */
const Verbs = Type.Array(Type.Object({ verb: Type.String({ maxLength: 32 }) }, { additionalProperties: true }), {
  minItems: 1,
  maxItems: 200,
  description: 'A document: what the call does, verb by verb',
  examples: [[{ verb: 'say', text: 'Hello.' }, { verb: 'hangup' }]],
})

/** Where a program comes from. A request gives one of the three. */
const source = {
  application_uuid: Type.Optional(Id('APP', 'The application whose program the call runs')),
  url: Type.Optional(WebAddress('Answers with the first document of the program')),
  method: Type.Optional(WebMethod),
  fallback_url: Type.Optional(WebAddress('Is requested where url gives no document')),
  verbs: Type.Optional(Verbs),
}

const Tags = (description: string) =>
  Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), {
    description: `${description}: a JSON object of at most 4 KiB, which every request of the program has`,
    examples: [{ order: '1234' }],
  })

const { cdr: Call } = getCall.reply.properties

export const createCall = contract({
  ...account,
  id: 'createCall',
  client: 'calls.create',
  needs: 'inbox',
  audited: true,
  method: 'POST',
  url: '/open/voip/calls',
  summary: 'Make a call that a program runs: an application, a URL or a list of verbs',
  description:
    `The call waits with the status QUEUED until it is placed: calls of an account leave in order, a few a second, and at most ${maxWaitingCalls.toLocaleString('en-US')} wait. ` +
    'A call that is not placed within 60 s of its time fails with the end_reason expired. ' +
    'Refused attempts are in the call history too. Events are call.initiated, call.answered, call.status.update and call.outbound.completed.',
  body: Type.Object(
    {
      from_number: Phone('A caller ID of the account, E.164'),
      to: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'A number in E.164, or a user of the account (USR…)',
        examples: ['+447700900123'],
      }),
      ...source,
      status_url: Type.Optional(WebAddress('Gets the statuses of status_events, in order')),
      status_events: Type.Optional(
        Type.Array(Enum([...callbackEvents]), {
          maxItems: callbackEvents.length,
          uniqueItems: true,
          description: 'Default: completed',
        }),
      ),
      ring_timeout: Type.Optional(
        Type.Integer({ minimum: minRingSeconds, maximum: maxRingSeconds, description: 'Seconds. Default: 60' }),
      ),
      max_seconds: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxCallSeconds, description: 'Longest talk. Default: 14,400' }),
      ),
      send_digits: Type.Optional(
        Type.String({
          pattern: '^[0-9*#A-DwW]{1,64}$',
          description: 'Keys to send after the answer; w waits half a second, W a second',
          examples: ['ww12#'],
        }),
      ),
      record: Type.Optional(Type.Boolean({ description: 'Record both sides from the answer on. Default: false' })),
      headers: Type.Optional(
        Type.Record(Type.String({ pattern: '^[Xx]-[A-Za-z0-9-]{1,60}$' }), HeaderValue, {
          maxProperties: maxCallHeaders,
          description: 'SIP headers of the call, beginning with X-, without control characters',
          examples: [{ 'X-Order': '1234' }],
        }),
      ),
      tags: Type.Optional(Tags('Data of your own')),
    },
    { examples: [{ from_number: '+447700900001', to: '+447700900123', url: 'https://example.com/call' }] },
  ),
  status: 201,
  reply: Ok({
    cdr: Call,
    queued_ms: Type.Integer({ description: 'Estimated milliseconds until the call is placed', examples: [0] }),
  }),
  errors: {
    invalid:
      'An address is refused (url_refused), not exactly one program is given, a document is wrong (document_invalid), or the tags are too large (tags_too_large)',
    balance: 'The balance does not cover a minute, or the key may spend no more today (key_spend_limit)',
    forbidden:
      'from_number is no caller ID of the account (caller_id), or to may not be called (emergency, destination_not_allowed, spend_limit)',
    notFound: 'The account has no such user (unknown_user) or application',
    unprocessable: 'A number is not E.164, or there is no price for it (destination_not_priced)',
    tooMany: 'Too many calls wait (call_queue_full), or the account attempts too many a minute (too_many_attempts)',
    unavailable: 'No process runs calls (no_voice), or no trunk carries calls to the number (no_trunk)',
  },
  codes: { forbidden: ['emergency'] },
})

const commandNames = [
  ...(['hangup', 'redirect', 'play', 'say', 'stop', 'dtmf'] as const),
  ...(['record_call', 'stream', 'stop_stream', 'tag'] as const),
]

/** The fields of the verbs that are commands too. */
const {
  verb: _verb,
  id: _id,
  action: _action,
  action_method: _method,
  early: _early,
  ...commandFields
} = {
  ...verbSchemas.say.properties,
  ...verbSchemas.play.properties,
  ...verbSchemas.record_call.properties,
  ...verbSchemas.stream.properties,
  text: Type.Optional(verbSchemas.say.properties.text),
  do: Type.Optional(verbSchemas.record_call.properties.do),
}

export const commandCall = contract({
  ...account,
  id: 'commandCall',
  client: 'calls.command',
  needs: 'inbox',
  audited: true,
  waits: true,
  method: 'POST',
  url: '/open/voip/call/:call_uuid/commands',
  summary: 'Command a call that is queued or runs: end it, redirect its program, play, record, stream',
  description:
    'hangup works for every call but those on the messaging app; the other commands need a call that a program runs. ' +
    'play, say, record_call and stream have the fields of the verb of the same name. ' +
    'A command that the call could not do is answered with the outcome ok: false.',
  params: Type.Object({ call_uuid: Id('CDR') }),
  body: Type.Object(
    {
      ...commandFields,
      command: Enum([...commandNames], {
        description:
          'hangup: ends the call. redirect: the program goes on with url, verbs or application_uuid. stop: ends what is played. dtmf: sends digits. tag: adds data to the tags',
      }),
      ...source,
      url: Type.Optional(
        Type.String({
          ...WebAddress('For redirect: answers with the document. For play: the sound. For stream: wss:'),
          pattern: commandAddress,
        }),
      ),
      digits: Type.Optional(Type.String({ pattern: '^[0-9*#A-DwW]{1,64}$', description: 'For dtmf' })),
      data: Type.Optional(Tags('For tag')),
    },
    { examples: [{ command: 'hangup' }] },
  ),
  status: 200,
  also: { 202: 'The process of the call did not answer within 3 s. The command may still be carried out' },
  reply: Ok({
    outcome: Type.Union(
      [
        Type.Object({
          ok: Type.Boolean(),
          code: Type.Optional(Type.String({ description: 'Why it failed: call_ended, no_program, not_answered …' })),
          reason: Type.Optional(Type.String()),
          recording_uuid: Type.Optional(Id('REC')),
          stream: Type.Optional(Type.String({ description: 'Id of the stream that began' })),
        }),
        Type.Null(),
      ],
      { description: 'null with 202' },
    ),
  }),
  errors: {
    invalid:
      'An address is refused (url_refused), the fields are not those of the command (document_invalid), or the tags are too large (tags_too_large)',
    notFound: 'No such call or application of the account',
    conflict: 'The call has ended (call_ended)',
    notSupported: 'A call on the messaging app, which runs on other devices (not_supported)',
    unavailable: 'No process runs calls (no_voice)',
  },
})

const SigningSecret = Confidential(Type.String({ examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw4rW0Xb1JQ5s='] }))

export const getProgramSecret = contract({
  ...account,
  id: 'getProgramSecret',
  client: 'calls.programSecret',
  needs: 'develop',
  method: 'GET',
  url: '/open/voip/signing-secret',
  summary: 'The secret that signs requests to programs and status_url of calls without an application',
  description:
    'The signatures are those of Standard Webhooks. Requests of an application are signed by its own secret.',
  status: 200,
  reply: Ok({
    signing_secret: SigningSecret,
    previous_secret_valid_until: Type.Optional({ ...Time, description: 'Until then the previous secret signs too' }),
  }),
  errors: {},
  cli: 'calls signing-secret',
})

export const rotateProgramSecret = contract({
  ...account,
  audited: true,
  id: 'rotateProgramSecret',
  makes: 'webhook',
  ownAnswer: true,
  proof: true,
  client: 'calls.rotateProgramSecret',
  needs: 'develop',
  method: 'POST',
  url: '/open/voip/signing-secret',
  summary: 'Create a new signing secret of programs; the previous one also signs for 24 hours',
  description:
    'Programs and receivers of status_url have 24 hours to take it over. Applications have secrets of their own.',
  status: 200,
  reply: Ok({ signing_secret: SigningSecret, previous_secret_valid_until: Time }),
  errors: {},
  cli: 'calls rotate-signing-secret',
})
