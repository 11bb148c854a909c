import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Country, Enum, Id, Ok, Phone, Time, Words } from '../../http/schema.ts'
import { groupTypes } from '../rows.ts'
import { GroupId, VirtualNumber } from '../shapes.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: numbers' } as const

const States = ['free', 'held', 'owned', 'quarantine', 'withdrawn'] as const

const pages = {
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
}
const Prefix = Type.Optional(
  Type.String({
    pattern: '^\\+?[0-9]{1,15}$',
    description: 'Leading digits with the calling code',
    examples: ['4420'],
  }),
)

export const listInventory = contract({
  ...operator,
  id: 'listInventory',
  method: 'GET',
  url: '/operator/inventory',
  summary: 'Numbers of the inventory, in their order',
  query: Type.Object({
    state: Type.Optional(Enum([...States])),
    group_id: Type.Optional(GroupId),
    country: Type.Optional(Country),
    prefix: Prefix,
    ...pages,
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    numbers: Type.Array(
      Type.Object({
        number: Type.String({ examples: ['+442079460958'] }),
        state: Enum([...States]),
        group_id: Type.String(),
        iso_country_code: Country,
        type: Enum([...groupTypes]),
        location: Type.String(),
        supplier: Type.String({ description: 'own, or who it is from' }),
        account_uuid: Type.Optional(Id('ACC', 'Who holds or owns it')),
        rests_until: Type.Optional(Time),
      }),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
  cli: 'inventory list',
})

const Which = Type.Object({
  numbers: Type.Optional(Type.Array(Phone(), { minItems: 1, maxItems: 1000 })),
  group_id: Type.Optional({ ...GroupId, description: 'All of a group, instead of numbers' }),
})
const Refused = Type.Array(Type.Object({ number: Type.String(), reason: Type.String() }), {
  description: 'Of the numbers named, those that stay as they are',
})
const whichErrors = { invalid: 'Neither numbers nor group_id is given, or both are', notFound: 'No such group' }

export const withdrawInventory = contract({
  ...operator,
  id: 'withdrawInventory',
  method: 'POST',
  url: '/operator/inventory/withdraw',
  summary: 'Take numbers off sale: those that are free or rest. What is held or owned stays',
  body: Which,
  status: 200,
  reply: Ok({ withdrawn: Type.Integer(), refused: Refused }),
  errors: whichErrors,
  cli: 'inventory withdraw',
})

export const restoreInventory = contract({
  ...operator,
  id: 'restoreInventory',
  method: 'POST',
  url: '/operator/inventory/restore',
  summary: 'Put withdrawn numbers on sale again',
  body: Which,
  status: 200,
  reply: Ok({ restored: Type.Integer(), refused: Refused }),
  errors: whichErrors,
  cli: 'inventory restore',
})

const Sold = Type.Object({
  ...VirtualNumber.properties,
  account_name: Type.String(),
  suspended_for: Type.Optional(Type.String({ description: 'Why it is suspended' })),
})

export const listSoldNumbers = contract({
  ...operator,
  id: 'listSoldNumbers',
  method: 'GET',
  url: '/operator/numbers',
  summary: 'Numbers of all accounts, those bought last first',
  query: Type.Object({
    account_uuid: Type.Optional(Id('ACC')),
    country: Type.Optional(Country),
    status_text: Type.Optional(
      Enum(['ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED', 'PENDING_CANCELLATION']),
    ),
    prefix: Prefix,
    ...pages,
  }),
  status: 200,
  reply: Ok({ count: Type.Integer(), numbers: Type.Array(Sold), next_cursor: Type.Optional(Type.String()) }),
  errors: { invalid: 'A parameter is wrong, or the cursor is not one of this list', notFound: 'No such account' },
  cli: 'numbers list',
})

const params = Type.Object({ virtual_number_uuid: Id('DID') })
const unknown = 'No such virtual number'

export const suspendNumber = contract({
  ...operator,
  id: 'suspendNumber',
  method: 'POST',
  url: '/operator/numbers/:virtual_number_uuid/suspend',
  summary: 'Suspend a number: it stays its owner’s, and no text goes out or comes in',
  params,
  body: Type.Object({ reason: Words(200, 'Told to the account') }),
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  errors: { notFound: unknown, conflict: 'It is suspended already' },
  cli: 'numbers suspend',
})

export const reinstateNumber = contract({
  ...operator,
  id: 'reinstateNumber',
  method: 'POST',
  url: '/operator/numbers/:virtual_number_uuid/reinstate',
  summary: 'End the suspension of a number: it is what it was before',
  params,
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  errors: { notFound: unknown, conflict: 'It is not suspended' },
  cli: 'numbers reinstate',
})
