import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Ok, Phone, Time } from '../http/schema.ts'

const sandbox = { auth: 'account', shape: 'full', tag: 'Sandbox' } as const
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
})

export const getHandset = contract({
  ...sandbox,
  id: 'getHandset',
  method: 'GET',
  url: '/sandbox/handsets/:number',
  summary: 'What a handset of the sandbox saw of this account, oldest first',
  params,
  status: 200,
  reply: Type.Object({
    number: Type.String(),
    sms: Type.Array(Item),
    msgapp: Type.Array(Item),
    calls: Type.Array(Item),
  }),
  errors: {},
})

export const setHandset = contract({
  ...sandbox,
  id: 'setHandset',
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
    answers: Type.Optional(Enum(['answer', 'busy', 'no_answer', 'reject'])),
    on_msgapp: Type.Optional(Type.Boolean()),
    business: Type.Optional(Type.Boolean()),
  }),
  status: 200,
  reply: Ok({}),
  errors: {},
})

export const sendFromHandset = contract({
  ...sandbox,
  id: 'sendFromHandset',
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

export const moveClock = contract({
  ...sandbox,
  id: 'moveClock',
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
  errors: {},
})
