import { type TSchema, Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Phone, paging, Time } from '../http/schema.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

export const estimateCallPrice = contract({
  ...account,
  id: 'estimateCallPrice',
  needs: 'inbox',
  method: 'GET',
  url: '/open/voip/estimated-call-price/:number',
  summary: 'What a minute of a call to a number costs at this moment; to numbers of the account nothing',
  params: Type.Object({ number: Phone('The destination, E.164') }),
  status: 200,
  reply: Ok({
    price_per_minute: Type.Number({ description: 'USD; each minute that begins is paid', examples: [0.012] }),
    currency: Type.Literal('USD'),
    iso_country_code: Type.String({ examples: ['GB'] }),
  }),
  errors: { unprocessable: 'The number is not E.164, or there is no price for it (destination_not_priced)' },
})

const Call = Type.Object({
  uuid: Id('CDR'),
  account_uuid: Id('ACC'),
  callid: Type.String({ description: 'The session at whoever carries the call' }),
  direction: Enum(['O', 'I'], { description: 'Outbound or inbound' }),
  active: Type.Boolean({ description: 'In progress' }),
  from: Type.String({ description: 'Outbound: the user (USR…); inbound: the number of the caller' }),
  to_number: Type.String({ examples: ['+447700900123'] }),
  iso_country_code: Type.String({ examples: ['GB'] }),
  status: Enum(['RINGING', 'ANSWERED', 'COMPLETED', 'MISSED', 'FAILED', 'BUSY', 'NO_ANSWER', 'CANCELED']),
  end_reason: Type.Optional(Type.String({ description: 'interrupted, media_timeout, balance, a SIP code …' })),
  is_msgapp_call: Type.Boolean(),
  is_sip_trunk_call: Type.Boolean({ description: 'To or from the telephone network' }),
  caller_id_uuid: Type.Optional(Id('VCI')),
  caller_id_used: Type.String({ description: 'The number shown to the recipient' }),
  verstat: Type.Optional(
    Type.String({
      description: 'Inbound: how the carrier verified the number of the caller (3GPP TS 24.229)',
      examples: ['TN-Validation-Passed'],
    }),
  ),
  npdi: Type.Optional(
    Type.Boolean({ description: 'Inbound: the carrier has asked the number portability database (RFC 4694)' }),
  ),
  rn: Type.Optional(
    Type.String({ description: 'Inbound: where a ported number is routed to (RFC 4694)', examples: ['+441632960001'] }),
  ),
  duration: Type.Integer({ description: 'Seconds talked' }),
  recording_url: Type.Optional(
    Type.String({ description: 'A WAV file, left the agent, right the far end; the link ends after eight days' }),
  ),
  start_time: Type.Optional(Time),
  end_time: Type.Optional(Time),
  agent_id: Type.Optional(Id('USR')),
  created_at: Time,
  updated_at: Time,
  call_cost: Type.Object({
    callid: Type.String(),
    forwarded: Type.Boolean(),
    toll_free: Type.Boolean(),
    start_dt: Type.Optional(Time),
    end_dt: Type.Optional(Time),
    duration: Type.Integer({ description: 'Seconds paid' }),
    call_price: Type.Number({ description: 'USD' }),
  }),
})

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

export const getCallHistory = contract({
  ...account,
  id: 'getCallHistory',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/call-history',
  summary: 'Calls of the account, newest first',
  query: Type.Object({
    ...paging,
    direction: Type.Optional(Enum(['inbound', 'outbound'])),
    to_number: Type.Optional(Phone('Outbound calls to this number; says nothing where direction is inbound')),
    from_number: Type.Optional(Phone('Inbound calls from this number; says nothing where direction is outbound')),
    status: Type.Optional(Call.properties.status),
    since: Moment,
    until: Moment,
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'The next_cursor of the page before' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer(),
    page: Type.Integer(),
    total: Type.Integer(),
    cdrs: Type.Array(Call),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
})

export const getCall = contract({
  ...account,
  id: 'getCall',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/call/:call_uuid',
  summary: 'One call, and who handled it',
  params: Type.Object({ call_uuid: Id('CDR') }),
  status: 200,
  reply: Ok({
    cdr: Call,
    agent: Type.Optional(
      Type.Object({
        uuid: Id('USR'),
        first_name: Type.String(),
        last_name: Type.String(),
        full_name: Type.String(),
      }),
    ),
  }),
  errors: { notFound: 'No such call of the account' },
})

const Timeline = Type.Array(
  Type.Object({
    at: Time,
    leg: Type.Optional(Enum(['caller', 'callee'])),
    what: Enum(['sip_in', 'sip_out', 'media', 'note']),
    text: Type.String({ examples: ['INVITE sip:+447700900123@…', 'pcmu; received 412 packets, 0 lost'] }),
  }),
)

export const getCallTimeline = contract({
  ...account,
  id: 'getCallTimeline',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/call/:call_uuid/timeline',
  summary: 'What happened in a call, line by line: SIP messages, how audio went, why it ended',
  params: Type.Object({ call_uuid: Id('CDR') }),
  status: 200,
  reply: Ok({ timeline: Timeline }),
  errors: { notFound: 'No such call of the account' },
})

export const getCallTimelineOfAccount = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'getCallTimelineOfAccount',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/calls/:call_uuid/timeline',
  summary: 'What happened in a call of an account, with the addresses of trunks',
  params: Type.Object({ account_uuid: Id('ACC'), call_uuid: Id('CDR') }),
  status: 200,
  reply: Ok({ timeline: Timeline }),
  errors: { notFound: 'No such call of the account' },
  cli: 'calls timeline',
})

export const listOpenCalls = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'listOpenCalls',
  method: 'GET',
  url: '/operator/calls',
  summary: 'Calls under way, of all accounts, newest first',
  query: Type.Object(paging),
  status: 200,
  reply: Ok({ count: Type.Integer(), page: Type.Integer(), total: Type.Integer(), cdrs: Type.Array(Call) }),
  errors: {},
  cli: 'calls list',
})

export const hangUpCall = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'hangUpCall',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/calls/:call_uuid/hangup',
  summary: 'End a call that is under way, whichever process runs it: within a second, with the end_reason operator',
  params: Type.Object({ account_uuid: Id('ACC'), call_uuid: Id('CDR') }),
  status: 202,
  reply: Ok({ cdr: Call }),
  errors: {
    notFound: 'No such call of the account',
    conflict: 'The call has ended (call_ended)',
    notSupported: 'A call on the messaging app, which devices elsewhere have (not_supported)',
  },
  cli: 'calls hangup',
})

const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description: `${description}; null: as the settings say` })

const limits = {
  calls_at_a_time: orNull(Type.Integer({ minimum: 1, maximum: 100_000 }), 'Calls under way'),
  attempts_per_minute: orNull(Type.Integer({ minimum: 1, maximum: 100_000 }), 'Calls that are tried within a minute'),
  spend_per_day: orNull(
    Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$', examples: ['50.00'] }),
    'USD spent a day (UTC)',
  ),
  destinations: Type.Union(
    [Type.Array(Type.String({ pattern: '^[0-9]{0,15}$' }), { maxItems: 1_000, examples: [['44', '33']] }), Type.Null()],
    {
      description:
        'Leading digits of what may be called, an empty text for everything; null: everything but premium rate, personal numbers, satellites and the countries known for toll fraud, the Caribbean under +1 among them (docs/operating.md). Emergency numbers never',
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
  reply: Ok({ limits: Type.Object(limits) }),
  errors: { notFound: 'No such account' },
} as const

export const getCallLimits = contract({
  ...limited,
  id: 'getCallLimits',
  method: 'GET',
  summary: 'What an account may call',
  cli: 'call-limits show',
})

export const changeCallLimits = contract({
  ...limited,
  id: 'changeCallLimits',
  method: 'PATCH',
  summary: 'Change what an account may call; what is not given stays as it is',
  body: Type.Partial(Type.Object(limits)),
  cli: 'call-limits change',
})

export const checkTrunk = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: calls',
  id: 'checkTrunk',
  method: 'POST',
  waits: true,
  url: '/operator/trunks/:trunk_name/check',
  summary: 'Examine a SIP trunk, and say in words what to change; with an echo number a call of 3 s is made',
  params: Type.Object({
    trunk_name: Type.String({ minLength: 1, maxLength: 100, description: 'Name of the connection' }),
  }),
  body: Type.Object({
    echo_number: Type.Optional(Phone('A number behind the trunk that answers and sends back what it hears')),
  }),
  status: 200,
  reply: Ok({
    working: Type.Boolean(),
    findings: Type.Array(
      Type.Object({
        what: Enum(['dns', 'reach', 'options', 'registration', 'nat', 'tls', 'codecs', 'media']),
        well: Type.Boolean(),
        warning: Type.Optional(Type.Boolean({ description: 'Not well, but calls work all the same' })),
        found: Type.String({ examples: ['203.0.113.5:5060 answered 200 OK'] }),
        mend: Type.Optional(Type.String({ examples: ['Set username and password as the carrier gave them'] })),
      }),
    ),
  }),
  errors: { notFound: 'There is no SIP trunk of this name', unprocessable: 'echo_number is not E.164' },
  cli: 'trunk check',
})
