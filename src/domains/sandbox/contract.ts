import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Named, Ok, Phone, Success, Time } from '../../platform/http/schema.ts'

const sandbox = { auth: 'account', shape: 'full', tag: 'Sandbox', waits: true } as const
const params = Type.Object({ number: Phone('A handset: any number that is not on the platform') })

/** The simulator's per-number carrier faults. */
const numberBehaviours = [
  ...['throttled', 'queue_full', 'system_error', 'mute', 'slow', 'disconnect', 'half_pdu', 'empty_id', 'hex_ids'],
  ...['receipt_first', 'duplicate_receipts', 'receipts_reversed', 'first_receipt_only'],
]

const Item = Named(
  'HandsetItem',
  Type.Object({
    direction: Enum(['inbound', 'outbound'], { description: 'From the handset’s view: received messages are inbound' }),
    peer: Type.String(),
    text: Type.String(),
    at: Time,
    uuid: Type.Optional(Type.String({ description: 'The message on the platform, if known' })),
    media: Type.Optional(Type.String()),
    group: Type.Optional(Type.String({ description: 'Id of the messaging-app group in which it was written' })),
    digest: Type.Optional(Type.String({ description: 'SHA-256 of the file that the handset fetched from `media`' })),
    pin: Type.Optional(Type.Object({ latitude: Type.Number(), longitude: Type.Number() })),
    read: Type.Optional(Type.Boolean({ description: 'For messages of the handset: the platform has opened it' })),
    removed: Type.Optional(Type.Boolean({ description: 'Deleted by its sender' })),
  }),
)

const Call = Named(
  'HandsetCall',
  Type.Object({
    call_id: Type.String(),
    direction: Enum(['inbound', 'outbound'], { description: 'From the handset’s view: received calls are inbound' }),
    peer: Type.String({ description: 'The number at the other end' }),
    at: Time,
    state: Enum(['ringing', 'answered', 'completed', 'busy', 'no_answer', 'rejected', 'canceled', 'failed']),
    status: Type.Integer({ description: 'The last SIP status; 0 before there is one' }),
    answered_at: Type.Optional(Time),
    ended_at: Type.Optional(Time),
    seconds: Type.Number({ description: 'Seconds talked so far' }),
    digits: Type.String({ description: 'Keys pressed at the other end' }),
    tones: Type.Array(
      Named(
        'HandsetTone',
        Type.Object({
          hertz: Type.Integer(),
          from: Type.Number({ description: 'Seconds after the answer' }),
          seconds: Type.Number(),
        }),
      ),
      { description: 'Pure tones that the handset heard' },
    ),
    uuid: Type.Optional(Type.String({ description: 'The call on the platform, if known' })),
  }),
)

export const getHandset = contract({
  ...sandbox,
  id: 'getHandset',
  showsTexts: true,
  client: 'handsets.get',
  needs: 'develop',
  method: 'GET',
  url: '/sandbox/handsets/:number',
  summary: 'Messages and calls between a sandbox handset and this account, oldest first',
  description:
    'Use it in tests to see what a person would have received. Only sandbox accounts can use it. ' +
    'Texts are masked (•••) for readers who may not see all conversations: they need inbox and inbox.all.',
  params,
  status: 200,
  reply: Type.Object({
    number: Type.String(),
    sms: Type.Array(Item),
    msgapp: Type.Array(Item),
    calls: Type.Array(Call),
  }),
  codes: { invalid: ['not_a_handset'] },
  errors: {},
})

export const setHandset = contract({
  ...sandbox,
  id: 'setHandset',
  client: 'handsets.set',
  needs: 'develop',
  method: 'PUT',
  url: '/sandbox/handsets/:number',
  summary: 'How a handset behaves',
  description: 'Use it to test failures: undelivered messages, busy calls and faults of a carrier.',
  params,
  body: Type.Object(
    {
      sms: Type.Optional(
        Enum(['deliver', 'undeliverable', 'expire', 'reject', 'silent'], { description: 'Outcome of an SMS to it' }),
      ),
      carrier: Type.Optional(
        Type.Union([Type.Null(), Enum(numberBehaviours)], {
          description:
            'Carrier fault for submits to it over SMPP; null: none. Refusals, broken links and missing responses affect every other submit, so that a retry succeeds',
        }),
      ),
      answers: Type.Optional(
        Enum(['answer', 'busy', 'no_answer', 'reject', 'echo'], {
          description: 'Reaction to a call. answer: after 1 s, with a tone of 620 Hz; echo: sends received audio back',
        }),
      ),
      talk_seconds: Type.Optional(
        Type.Union([Type.Null(), Type.Integer({ minimum: 1, maximum: 14_400 })], {
          description: 'Seconds before it hangs up; null: never',
        }),
      ),
      on_msgapp: Type.Optional(Type.Boolean()),
      business: Type.Optional(Type.Boolean()),
      groups: Type.Optional(
        Enum(['join', 'invite'], { description: 'Whether others can add it to a group, or only invite it (403)' }),
      ),
      pairing: Type.Optional(
        Type.Boolean({
          description: 'For a number that will become a channel: it is connected once a phone scans its code',
        }),
      ),
    },
    { examples: [{ sms: 'deliver' }] },
  ),
  status: 200,
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: {},
})

export const sendFromHandset = contract({
  ...sandbox,
  id: 'sendFromHandset',
  client: 'handsets.sendSms',
  needs: 'develop',
  method: 'POST',
  url: '/sandbox/handsets/:number/sms',
  summary: 'The handset sends an SMS: it reaches the platform over SMPP, long messages in parts',
  description: 'The event is sms.message.received. A text of STOP opts the handset out.',
  params,
  body: Type.Object({
    to: Phone('A number of the account'),
    text: Type.String({ minLength: 1, maxLength: 1600, examples: ['Hello back'] }),
  }),
  status: 202,
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The number is not one of the account' },
})

const ownCalls = { ...sandbox, method: 'POST', status: 202 } as const

export const callFromHandset = contract({
  ...ownCalls,
  id: 'callFromHandset',
  client: 'handsets.call',
  needs: 'develop',
  url: '/sandbox/handsets/:number/calls',
  summary: 'The handset calls a number through the trunk, with its tone',
  description:
    'The call arrives at the platform as from a carrier. Events are call.status.update and call.incoming.completed.',
  params,
  body: Type.Object({
    to: Phone('A number of the account'),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 14_400,
        description: 'Seconds before it hangs up. Default: never',
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
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The number is not one of the account' },
})

export const pressOnHandset = contract({
  ...ownCalls,
  id: 'pressOnHandset',
  client: 'handsets.pressKeys',
  needs: 'develop',
  url: '/sandbox/handsets/:number/calls/:call_id/keys',
  summary: 'The handset presses keys in a call: telephone-events of RFC 4733, 100 ms each and 50 ms apart',
  description: 'Keys are accepted while the call is answered.',
  params: Type.Object({ ...params.properties, call_id: Type.String({ maxLength: 40 }) }),
  body: Type.Object({ digits: Type.String({ pattern: '^[0-9A-Da-d*#]{1,50}$', examples: ['482913'] }) }),
  reply: Ok({ pressed: Type.Boolean({ description: 'false: the call is not answered, or has ended' }) }),
  errors: { notFound: 'The handset has no such call of the account' },
})

export const hangUpFromHandset = contract({
  ...ownCalls,
  id: 'hangUpFromHandset',
  client: 'handsets.hangUp',
  needs: 'develop',
  url: '/sandbox/handsets/:number/calls/:call_id/hang-up',
  summary: 'The handset hangs up, or rejects a call that rings',
  description: 'The call ends for both sides as if a person had hung up.',
  params: Type.Object({ ...params.properties, call_id: Type.String({ maxLength: 40 }) }),
  reply: Success,
  errors: { notFound: 'The handset has no such call of the account' },
})

export const moveClock = contract({
  ...sandbox,
  id: 'moveClock',
  client: 'clock.move',
  needs: 'develop',
  method: 'POST',
  url: '/sandbox/clock',
  summary: 'Move the clock of the platform forward, in all its processes',
  description:
    'Renewals, expiries and scheduled messages then happen as if the time had passed. The clock cannot go back.',
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
  codes: { conflict: ['clock_is_shared'] },
  errors: {
    conflict: 'Some account is not marked as a sandbox account, or the Idempotency-Key was used with another request',
  },
})
