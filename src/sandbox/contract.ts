import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Ok, Phone, Time } from '../http/schema.ts'

const sandbox = { auth: 'account', shape: 'full', tag: 'Sandbox', waits: true } as const
const params = Type.Object({ number: Phone('A handset: any number that is not on the platform') })

/** As the simulator has them. */
const manners = [
  ...['throttled', 'queue_full', 'system_error', 'mute', 'slow', 'disconnect', 'half_pdu', 'empty_id', 'hex_ids'],
  ...['receipt_first', 'duplicate_receipts', 'receipts_reversed', 'first_receipt_only'],
]

const Item = Type.Object({
  direction: Enum(['inbound', 'outbound'], { description: 'As the handset sees it: what it got is inbound' }),
  peer: Type.String(),
  text: Type.String(),
  at: Time,
  uuid: Type.Optional(Type.String({ description: 'The message on the platform, where it is known' })),
  media: Type.Optional(Type.String()),
  group: Type.Optional(
    Type.String({ description: 'The id of the group on the messaging app in which it was written' }),
  ),
  digest: Type.Optional(Type.String({ description: 'SHA-256 of what the handset found at `media`' })),
  pin: Type.Optional(Type.Object({ latitude: Type.Number(), longitude: Type.Number() })),
  read: Type.Optional(Type.Boolean({ description: 'Of what it wrote: the platform has opened it' })),
  removed: Type.Optional(Type.Boolean({ description: 'Taken back by who wrote it' })),
})

const Call = Type.Object({
  call_id: Type.String(),
  direction: Enum(['inbound', 'outbound'], { description: 'As the handset sees it: a call that it got is inbound' }),
  peer: Type.String({ description: 'The number at the other end' }),
  at: Time,
  state: Enum(['ringing', 'answered', 'completed', 'busy', 'no_answer', 'rejected', 'canceled', 'failed']),
  status: Type.Integer({ description: 'The last SIP status; 0 before there is one' }),
  answered_at: Type.Optional(Time),
  ended_at: Type.Optional(Time),
  seconds: Type.Number({ description: 'Talked, so far' }),
  digits: Type.String({ description: 'Keys that were pressed at the other end' }),
  tones: Type.Array(
    Type.Object({
      hertz: Type.Integer(),
      from: Type.Number({ description: 'Seconds after the answer' }),
      seconds: Type.Number(),
    }),
    { description: 'Pure tones that the handset heard' },
  ),
  uuid: Type.Optional(Type.String({ description: 'The call on the platform, where it is known' })),
})

export const getHandset = contract({
  ...sandbox,
  id: 'getHandset',
  needs: 'develop',
  method: 'GET',
  url: '/sandbox/handsets/:number',
  summary: 'What a handset of the sandbox saw of this account, oldest first',
  params,
  status: 200,
  reply: Type.Object({
    number: Type.String(),
    sms: Type.Array(Item),
    msgapp: Type.Array(Item),
    calls: Type.Array(Call),
  }),
  errors: {},
})

export const setHandset = contract({
  ...sandbox,
  id: 'setHandset',
  needs: 'develop',
  method: 'PUT',
  url: '/sandbox/handsets/:number',
  summary: 'How a handset behaves',
  params,
  body: Type.Object({
    sms: Type.Optional(
      Enum(['deliver', 'undeliverable', 'expire', 'reject', 'silent'], { description: 'What becomes of an SMS to it' }),
    ),
    carrier: Type.Optional(
      Type.Union([Type.Null(), Enum(manners)], {
        description:
          'How the carrier treats submits to it over SMPP; null: well. Refusals, broken links and missing answers meet every other submit, so that the next try gets through',
      }),
    ),
    answers: Type.Optional(
      Enum(['answer', 'busy', 'no_answer', 'reject', 'echo'], {
        description: 'When it is called. answer: after 1 s, with a tone of 620 Hz; echo: it sends back what it hears',
      }),
    ),
    talk_seconds: Type.Optional(
      Type.Union([Type.Null(), Type.Integer({ minimum: 1, maximum: 14_400 })], {
        description: 'How long it talks before it hangs up; null: as long as the other end likes',
      }),
    ),
    on_msgapp: Type.Optional(Type.Boolean()),
    business: Type.Optional(Type.Boolean()),
    groups: Type.Optional(
      Enum(['join', 'invite'], { description: 'Whether others can add it to a group, or only invite it (403)' }),
    ),
    pairing: Type.Optional(
      Type.Boolean({
        description: 'Of a number that is to become a channel: it is connected once a phone scans its code',
      }),
    ),
  }),
  status: 200,
  reply: Ok({}),
  errors: {},
})

export const sendFromHandset = contract({
  ...sandbox,
  id: 'sendFromHandset',
  needs: 'develop',
  method: 'POST',
  url: '/sandbox/handsets/:number/sms',
  summary: 'The handset sends an SMS: it reaches the platform over SMPP, long texts in parts',
  params,
  body: Type.Object({
    to: Phone('A number of the account'),
    text: Type.String({ minLength: 1, maxLength: 1600, examples: ['Hello back'] }),
  }),
  status: 202,
  reply: Ok({}),
  errors: { notFound: 'The number is not one of the account' },
})

const ownCalls = { ...sandbox, method: 'POST', status: 202 } as const

export const callFromHandset = contract({
  ...ownCalls,
  id: 'callFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/calls',
  summary: 'The handset calls a number through the trunk, with its tone',
  params,
  body: Type.Object({
    to: Phone('A number of the account'),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 14_400,
        description: 'How long it talks before it hangs up; default: as long as the other end likes',
      }),
    ),
    digits: Type.Optional(
      Type.String({
        pattern: '^[0-9A-Da-d*#]{0,50}$',
        description: 'Keys that it presses a second after the answer',
        examples: ['12#'],
      }),
    ),
  }),
  reply: Ok({ call_id: Type.String() }),
  errors: { notFound: 'The number is not one of the account' },
})

export const hangUpFromHandset = contract({
  ...ownCalls,
  id: 'hangUpFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/calls/:call_id/hang-up',
  summary: 'The handset hangs up, or rejects a call that rings',
  params: Type.Object({ ...params.properties, call_id: Type.String({ maxLength: 40 }) }),
  reply: Ok({}),
  errors: { notFound: 'The handset has no such call of the account' },
})

export const moveClock = contract({
  ...sandbox,
  id: 'moveClock',
  needs: 'develop',
  method: 'POST',
  url: '/sandbox/clock',
  summary: 'Move the clock of the platform forward, in all its processes',
  body: Type.Object({
    advance_seconds: Type.Integer({
      minimum: 0,
      maximum: 315_360_000,
      description: 'Up to ten years',
      examples: [3600],
    }),
  }),
  status: 202,
  reply: Ok({ now: Time }),
  errors: {
    conflict: 'An account is not marked as a sandbox account, or the Idempotency-Key was used with another request',
  },
})
