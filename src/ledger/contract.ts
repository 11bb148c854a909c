import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Decimal, Id, Ok, Time } from '../http/schema.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })
const cursored = {
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
}

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: money' } as const
const params = Type.Object({ account_uuid: Id('ACC') })

export const creditAccount = contract({
  ...operator,
  id: 'creditAccount',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/credit',
  summary: 'Add money to the balance of an account',
  params,
  body: Type.Object({
    amount: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      description: 'USD: a decimal string with at most six places, or a number; more than zero, at most 1,000,000,000',
      examples: ['25.00'],
    }),
    note: Type.Optional(Type.String({ maxLength: 500 })),
  }),
  status: 201,
  reply: Ok({ balance: Decimal }),
  errors: { notFound: 'No such account' },
  cli: 'accounts credit',
})

export const getLedger = contract({
  ...operator,
  id: 'getLedger',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/ledger',
  summary: 'What came into the balance of an account and what went out of it, newest first',
  params,
  query: Type.Object({
    kind: Type.Optional(
      Type.String({ pattern: '^[a-z_]{1,50}$', description: 'Only transfers of this kind', examples: ['sms'] }),
    ),
    since: Type.Optional(Moment('Only transfers of this time or later')),
    until: Type.Optional(Moment('Only transfers before this time')),
    ...cursored,
  }),
  status: 200,
  reply: Ok({
    balance: Decimal,
    held: Type.String({ description: 'Set aside for what is not over yet: not in the balance', examples: ['0.00'] }),
    count: Type.Integer(),
    transfers: Type.Array(
      Type.Object({
        uuid: Id('TRF'),
        kind: Type.String({ examples: ['credit'] }),
        debit: Type.String({ description: 'Book that the money left' }),
        credit: Type.String({ description: 'Book that the money went to' }),
        amount: Decimal,
        reference: Type.Optional(Type.String({ description: 'What it paid for' })),
        note: Type.Optional(Type.String()),
        created_at: Time,
      }),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: { notFound: 'No such account' },
  cli: 'accounts ledger',
})

export const listHolds = contract({
  ...operator,
  id: 'listHolds',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/holds',
  summary: 'Money set aside for what is not over yet, such as a call; oldest first',
  params,
  query: Type.Object(cursored),
  status: 200,
  reply: Ok({
    held: Decimal,
    count: Type.Integer(),
    holds: Type.Array(
      Type.Object({
        uuid: Id('HLD'),
        kind: Type.String({ examples: ['call'] }),
        reference: Type.String({ description: 'What it is set aside for' }),
        amount: Decimal,
        created_at: Time,
      }),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: { notFound: 'No such account' },
  cli: 'accounts holds',
})
