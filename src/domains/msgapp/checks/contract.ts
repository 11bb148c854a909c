import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'

const checks = { auth: 'account', shape: 'full', tag: 'Messaging app: numbers' } as const

const word = Type.Optional(Type.String())
const flag = Type.Optional(Type.Boolean())
const level = Type.Optional(
  Type.Integer({ description: '0 not verified to 2 verified with a badge; absent if the network does not report it' }),
)

const Business = Named(
  'MsgappBusiness',
  Type.Object({
    verified_name: word,
    short_name: word,
    lang_code: word,
    currency: word,
    verified_level: level,
    business_hours: Type.Optional(
      Named(
        'BusinessHours',
        Type.Object({
          config: Type.Record(Type.String(), Type.Object({ mode: Type.String({ examples: ['open_24h'] }) })),
          timezone: Type.String(),
        }),
      ),
    ),
    map_pin: Type.Optional(Named('Coordinates', Type.Object({ latitude: Type.Number(), longitude: Type.Number() }))),
    description: word,
    email: word,
    cart_enabled: flag,
    website: Type.Optional(Type.Array(Type.String())),
    categories: Type.Optional(
      Type.Array(Named('BusinessCategory', Type.Object({ id: Type.String(), localized_display_name: Type.String() }))),
    ),
  }),
)

const Info = Named(
  'MsgappProfile',
  Type.Object({
    number_id: Type.Optional(
      Type.String({
        description: 'Digits as the network knows the number: if they differ from the checked number, send to these',
      }),
    ),
    contact_profile_pic: word,
    is_business: flag,
    is_enterprise: flag,
    verified_name: word,
    short_name: word,
    pushname: word,
    verified_level: level,
    status_text: Type.Optional(
      Type.String({ description: 'Only with extra-information, when a business number is connected' }),
    ),
    business_information: Type.Optional(Business),
  }),
)

const Result = Named(
  'NumberCheck',
  Type.Object({
    is_valid: Type.Boolean({ description: 'False for an impossible number; other fields are then absent' }),
    number: Type.Optional(
      Named(
        'CheckedNumber',
        Type.Object({
          iso_country_code: Type.String({ examples: ['GB'] }),
          region: Type.String({ description: 'Approximate; empty when unknown', examples: ['London'] }),
          carrier: Type.String({ description: 'Carrier that first issued the number; empty when unknown' }),
          timezone: Type.Array(Type.String({ examples: ['Europe/London'] })),
        }),
      ),
    ),
    on_msgapp: Type.Optional(Type.Boolean({ description: 'Absent when the network cannot report it' })),
    on_msgapp_unknown: Type.Optional(
      Type.Boolean({ description: 'True when the network cannot report it, or did not answer' }),
    ),
    msgapp_info: Type.Optional(Info),
  }),
)

const NumberText = Type.String({ minLength: 1, maxLength: 40, examples: ['+447400123456'] })

const limits = {
  balance: 'All checks of the trial, or all API calls, are used up',
  tooMany:
    'More checks than 50 a minute for each connected number (trial: 10 a minute, 6 s apart), or the wait would exceed 20 s',
}

export const checkNumber = contract({
  ...checks,
  id: 'checkNumber',
  client: 'msgapp.checkNumber',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/check-number/:your_number/:number_to_check',
  waits: true,
  summary: 'Whether a number is valid, and whether it is on the messaging app',
  description:
    'The answer comes from the network of your_number. A number without a certain answer is on_msgapp_unknown.',
  params: Type.Object({
    your_number: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'A connected number of the account, or its WPN uuid',
      examples: ['+442079460000'],
    }),
    number_to_check: NumberText,
  }),
  query: Type.Object({
    'extra-information': Type.Optional(
      Type.Boolean({ description: 'Status text and business information as well; counts as 2 API calls' }),
    ),
  }),
  status: 200,
  reply: Result,
  codes: {
    balance: ['quota_exceeded'],
    tooMany: ['too_many_checks'],
  },
  errors: { notFound: 'your_number is not a connected number of the account', ...limits },
})

const Batch = Named(
  'CheckBatch',
  Type.Object({
    uuid: Id('CHK'),
    state: Enum(['running', 'completed']),
    total: Type.Integer(),
    checked: Type.Integer(),
    created_at: Time,
    updated_at: Time,
  }),
)

export const checkNumbers = contract({
  ...checks,
  id: 'checkNumbers',
  client: 'msgapp.checkNumbers',
  needs: 'inbox',
  method: 'POST',
  url: '/open/msgapp/check-numbers',
  summary: 'Check up to 100 numbers in the background, over all connected numbers of the account',
  description: 'The reply has the uuid of the batch. The event msgapp.check.completed reports its end.',
  body: Type.Object({
    numbers: Type.Array(NumberText, { minItems: 1, maxItems: 100 }),
    extra_information: Type.Optional(Type.Boolean({ description: 'Counts as 2 API calls for each number' })),
  }),
  status: 202,
  reply: Ok({ batch: Batch }),
  codes: { balance: ['quota_exceeded'], conflict: ['channel_connecting'] },
  errors: { conflict: 'No number is connected', balance: limits.balance },
})

export const getCheckBatch = contract({
  ...checks,
  id: 'getCheckBatch',
  client: 'msgapp.getCheckBatch',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/check-numbers/:batch_uuid',
  summary: 'Progress and results of a batch of checks',
  description: 'Results appear while the batch runs. The state tells when it is complete.',
  params: Type.Object({ batch_uuid: Id('CHK') }),
  status: 200,
  reply: Ok({ batch: Batch, results: Type.Record(Type.String(), Result) }),
  errors: { notFound: 'No such batch' },
})
