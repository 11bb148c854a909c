import { type TSchema, Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Phone, pageFields, pagingQuery, Time } from '../../platform/http/schema.ts'
import { TimelineReply } from '../timelines/contract.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

export const estimateCallPrice = contract({
  ...account,
  id: 'estimateCallPrice',
  client: 'calls.estimatePrice',
  needs: 'inbox',
  method: 'GET',
  url: '/open/voip/estimated-call-price/:number',
  summary: 'Current price per minute of a call to a number; calls to numbers of the account are free',
  description: 'Nothing is called or charged. Calls are charged by the prices of the moment at which they begin.',
  params: Type.Object({ number: Phone('The destination, E.164') }),
  status: 200,
  reply: Ok({
    price_per_minute: Type.Number({ description: 'USD; every started minute is charged', examples: [0.012] }),
    currency: Type.Literal('USD'),
    iso_country_code: Type.String({ examples: ['GB'] }),
  }),
  errors: { unprocessable: 'The number is not E.164, or there is no price for it (destination_not_priced)' },
})

const LegQuality = Named(
  'CallLegQuality',
  Type.Object({
    mos: Type.Number({ description: 'Estimated mean opinion score (ITU-T G.107), 1 to 4.5', examples: [4.3] }),
    loss_percent: Type.Number(),
    jitter_ms: Type.Number(),
    round_trip_ms: Type.Optional(Type.Number()),
  }),
)

const Call = Named(
  'Call',
  Type.Object({
    uuid: Id('CDR'),
    account_uuid: Id('ACC'),
    callid: Type.String({ description: 'Session id at the system that carries the call' }),
    direction: Enum(['O', 'I'], { description: 'Outbound or inbound' }),
    active: Type.Boolean({ description: 'In progress' }),
    from: Type.String({
      description:
        'Outbound: the user (USR…), or the number (DID…, or as shown) of a call of the API; inbound: the number of the caller, anonymous if it is withheld',
    }),
    to_number: Type.String({ examples: ['+447700900123'] }),
    iso_country_code: Type.String({ examples: ['GB'] }),
    status: Enum(['QUEUED', 'RINGING', 'ANSWERED', 'COMPLETED', 'MISSED', 'FAILED', 'BUSY', 'NO_ANSWER', 'CANCELED']),
    end_reason: Type.Optional(
      Type.String({
        description:
          'interrupted, media_timeout, time_limit, no_sdp, balance, caller_blocked, expired, a SIP code …; for the verification call of a caller ID code_right, code_wrong, code_timeout, code_limit or code_expired',
      }),
    ),
    is_msgapp_call: Type.Boolean(),
    is_sip_trunk_call: Type.Boolean({ description: 'To or from the telephone network' }),
    caller_id_uuid: Type.Optional(Id('VCI')),
    caller_id_used: Type.String({ description: 'The number shown to the recipient' }),
    verstat: Type.Optional(
      Type.String({
        description: "Inbound: the carrier's verification of the caller's number (3GPP TS 24.229)",
        examples: ['TN-Validation-Passed'],
      }),
    ),
    npdi: Type.Optional(
      Type.Boolean({ description: 'Inbound: the carrier queried the number portability database (RFC 4694)' }),
    ),
    rn: Type.Optional(
      Type.String({
        description: 'Inbound: routing number of a ported number (RFC 4694)',
        examples: ['+441632960001'],
      }),
    ),
    diverted_from: Type.Optional(
      Type.String({
        description: 'Inbound: the number that forwarded the call (RFC 5806, RFC 7044)',
        examples: ['+441632960002'],
      }),
    ),
    duration: Type.Integer({ description: 'Seconds from the answer to the end' }),
    quality: Type.Optional(
      Type.Object(
        { caller: Type.Optional(LegQuality), callee: Type.Optional(LegQuality) },
        { description: 'Sound that arrived from each side, of answered calls that have ended' },
      ),
    ),
    contact_name: Type.Optional(
      Type.String({
        description: 'Name of the contact at the other side, in lists and single calls; needs inbox',
        examples: ['Ada Lovelace'],
      }),
    ),
    recording_url: Type.Optional(
      Type.String({ description: 'A WAV file: agent left, remote side right. The link expires after eight days' }),
    ),
    start_time: Type.Optional(Time),
    end_time: Type.Optional(Time),
    agent_id: Type.Optional(Id('USR')),
    created_at: Time,
    updated_at: Time,
    call_cost: Named(
      'CallCost',
      Type.Object({
        callid: Type.String(),
        forwarded: Type.Boolean(),
        toll_free: Type.Boolean(),
        start_dt: Type.Optional(Time),
        end_dt: Type.Optional(Time),
        duration: Type.Integer({ description: 'Seconds charged' }),
        call_price: Type.Number({ description: 'USD' }),
      }),
    ),
  }),
)

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

export const getCallHistory = contract({
  ...account,
  id: 'getCallHistory',
  csv: 'cdrs',
  client: 'calls.list',
  needs: 'read_only',
  orNeeds: 'inbox',
  method: 'GET',
  url: '/open/voip/call-history',
  summary: 'Calls of the account, newest first',
  description:
    'Filter by direction, number, user and time. Follow next_cursor for older calls. With q, min_duration or recorded=false a page examines 10,000 calls, so it may be short or empty although older calls match.',
  query: Type.Object({
    ...pagingQuery,
    direction: Type.Optional(Enum(['inbound', 'outbound'])),
    to_number: Type.Optional(Phone('Outbound calls to this number. With direction=inbound: none')),
    from_number: Type.Optional(Phone('Inbound calls from this number. With direction=outbound: none')),
    status: Type.Optional(Call.properties.status),
    user_uuid: Type.Optional(Id('USR', 'Calls that this user placed or answered')),
    number: Type.Optional(Phone('Calls with this number on either side')),
    min_duration: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 86_400, description: 'Seconds talked, at least', examples: [60] }),
    ),
    recorded: Type.Optional(Enum(['true', 'false'], { description: 'true: calls with a recording' })),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Name of a contact, with the scope inbox, or digits of a number of either side',
        examples: ['900123'],
      }),
    ),
    since: Moment,
    until: Moment,
  }),
  status: 200,
  reply: Ok({
    ...pageFields,
    cdrs: Type.Array(Call),
  }),
  errors: { notFound: 'The account has no such user' },
  cli: 'calls history',
})

export const getCall = contract({
  ...account,
  id: 'getCall',
  client: 'calls.get',
  needs: 'read_only',
  orNeeds: 'inbox',
  method: 'GET',
  url: '/open/voip/call/:call_uuid',
  summary: 'A call and the agent who handled it',
  description: 'The reply includes the cost, the end reason and a recording link, where they exist.',
  params: Type.Object({ call_uuid: Id('CDR') }),
  status: 200,
  reply: Ok({
    cdr: Call,
    agent: Type.Optional(
      Named(
        'CallAgent',
        Type.Object({
          uuid: Id('USR'),
          first_name: Type.String(),
          last_name: Type.String(),
          full_name: Type.String(),
        }),
      ),
    ),
  }),
  errors: { notFound: 'No such call of the account' },
})

export const getCallTimeline = contract({
  ...account,
  id: 'getCallTimeline',
  client: 'calls.timeline',
  needs: 'read_only',
  orNeeds: 'inbox',
  method: 'GET',
  url: '/open/voip/call/:call_uuid/timeline',
  summary:
    'Timeline of a call: SIP messages, steps of its program, audio statistics, charge; its outcome and the next step',
  description:
    'Use it to find out why a call failed or sounded bad. Requests of a program are entries program_request, its verbs program_verb, with verb, url without its query, answer_status, ms and error_code. Addresses of trunks are not shown.',
  params: Type.Object({ call_uuid: Id('CDR') }),
  status: 200,
  reply: TimelineReply,
  errors: { notFound: 'No such call of the account' },
})

export const getCallTimelineOfAccount = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'getCallTimelineOfAccount',
  client: 'calls.timeline',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/calls/:call_uuid/timeline',
  summary: 'Timeline of a call of an account, with the addresses of trunks',
  description: 'Use it to find out why a call failed or sounded bad.',
  params: Type.Object({ account_uuid: Id('ACC'), call_uuid: Id('CDR') }),
  status: 200,
  reply: TimelineReply,
  errors: { notFound: 'No such call of the account' },
  cli: 'calls timeline',
})

export const getAssertedCaller = contract({
  auth: 'operator',
  role: 'operator',
  audited: true,
  shape: 'full',
  tag: 'Operator: calls',
  id: 'getAssertedCaller',
  client: 'calls.assertedCaller',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/calls/:call_uuid/asserted-caller',
  summary: 'The number that the caller of an inbound call withheld, as the carrier asserted it',
  description:
    'For emergencies and malicious calls: the account sees anonymous. Each request is recorded in the audit log of the account.',
  params: Type.Object({ account_uuid: Id('ACC'), call_uuid: Id('CDR') }),
  status: 200,
  reply: Ok({
    asserted_number: Type.Union([Type.String({ examples: ['+447700900999'] }), Type.Null()], {
      description: 'null: the number is not withheld, or the carrier asserted none',
    }),
  }),
  errors: { notFound: 'No such call of the account' },
  cli: 'calls asserted-caller',
})

export const listOpenCalls = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'listOpenCalls',
  client: 'calls.list',
  method: 'GET',
  url: '/operator/calls',
  summary: 'Current calls of all accounts, newest first',
  description: 'The list changes from second to second. Use the uuid of a call to end it or to read its timeline.',
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Ok({ ...pageFields, cdrs: Type.Array(Call) }),
  errors: {},
  cli: 'calls list',
})

export const hangUpCall = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'hangUpCall',
  client: 'calls.hangUp',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/calls/:call_uuid/hangup',
  summary: 'End a current call within a second, in whichever process it runs, with the end_reason operator',
  description: 'Both sides are disconnected. The call then appears in the call history with its end reason.',
  params: Type.Object({ account_uuid: Id('ACC'), call_uuid: Id('CDR') }),
  status: 202,
  reply: Ok({ cdr: Call }),
  errors: {
    notFound: 'No such call of the account',
    conflict: 'The call has ended (call_ended)',
    notSupported: 'A call on the messaging app, which runs on other devices (not_supported)',
  },
  cli: 'calls hangup',
})

const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description: `${description}; null: the default of the settings` })

const limits = {
  calls_at_a_time: orNull(Type.Integer({ minimum: 1, maximum: 100_000 }), 'Concurrent calls'),
  attempts_per_minute: orNull(Type.Integer({ minimum: 1, maximum: 100_000 }), 'Call attempts per minute'),
  spend_per_day: orNull(
    Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$', examples: ['50.00'] }),
    'USD spent per day (UTC)',
  ),
  calls_per_second: orNull(
    Type.Integer({ minimum: 1, maximum: 1_000 }),
    'Calls of the API that begin in a second; others wait',
  ),
  destinations: Type.Union(
    [Type.Array(Type.String({ pattern: '^[0-9]{0,15}$' }), { maxItems: 1_000, examples: [['44', '33']] }), Type.Null()],
    {
      description:
        'Leading digits of allowed destinations, an empty string for all; null: all except premium rate, personal numbers, satellites and the countries known for toll fraud, including the Caribbean under +1 (docs/operating/calls.md). Emergency numbers are never allowed',
    },
  ),
}

const limited = {
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  url: '/operator/accounts/:account_uuid/call-limits',
  params: Type.Object({ account_uuid: Id('ACC') }),
  status: 200,
  reply: Ok({
    limits: Named('CallLimits', Type.Object(limits)),
    defaults: Named(
      'CallLimitDefaults',
      Type.Object(
        {
          calls_at_a_time: Type.Integer(),
          attempts_per_minute: Type.Integer(),
          spend_per_day: Type.String({ examples: ['50.00'] }),
          calls_per_second: Type.Integer(),
          destinations: Type.String({ description: 'Summary in words' }),
        },
        { description: 'In force where a limit is null', 'x-defaults-of': 'limits' },
      ),
    ),
  }),
  errors: { notFound: 'No such account' },
} as const

export const getCallLimits = contract({
  ...limited,
  id: 'getCallLimits',
  client: 'callLimits.get',
  method: 'GET',
  summary: 'Call limits of an account',
  description: 'The reply shows the limits of the account and the defaults that replace absent ones.',
  cli: 'call-limits show',
})

export const changeCallLimits = contract({
  ...limited,
  id: 'changeCallLimits',
  client: 'callLimits.update',
  method: 'PATCH',
  summary: 'Change call limits of an account; absent fields stay unchanged',
  description: 'New limits apply to new calls; current calls continue.',
  body: Type.Partial(Type.Object(limits), { examples: [{ calls_at_a_time: 20 }] }),
  cli: 'call-limits change',
})

export const checkTrunk = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'checkTrunk',
  client: 'trunks.check',
  method: 'POST',
  waits: true,
  url: '/operator/trunks/:trunk_name/check',
  summary: 'Diagnose a SIP trunk and state what to change; an echo number adds a test call of 3 s',
  description:
    'Each finding states what was tried and what to change. ' +
    'With echo_number a real call is made, which the carrier may charge.',
  params: Type.Object({
    trunk_name: Type.String({ minLength: 1, maxLength: 100, description: 'Name of the connection' }),
  }),
  body: Type.Object({
    echo_number: Type.Optional(Phone('A number behind the trunk that answers and echoes audio')),
  }),
  status: 200,
  reply: Ok({
    working: Type.Boolean(),
    findings: Type.Array(
      Named(
        'TrunkFinding',
        Type.Object({
          what: Enum(['dns', 'reach', 'options', 'registration', 'nat', 'tls', 'codecs', 'media']),
          well: Type.Boolean(),
          warning: Type.Optional(Type.Boolean({ description: 'Failed, but calls work nevertheless' })),
          found: Type.String({ examples: ['203.0.113.5:5060 answered 200 OK'] }),
          mend: Type.Optional(Type.String({ examples: ['Set username and password as the carrier gave them'] })),
        }),
      ),
    ),
  }),
  errors: { notFound: 'There is no SIP trunk of this name', unprocessable: 'echo_number is not E.164' },
  cli: 'trunk check',
})
