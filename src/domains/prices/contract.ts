import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Named, Ok, pageFields, pagingQuery, Time } from '../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: money' } as const

const Kind = Enum(['sms_out', 'sms_in', 'call_out', 'call_in', 'mms_out'], {
  description:
    'sms_out and sms_in: USD a segment; call_out and call_in: USD a minute; mms: USD a sent message with files, by default the price of one segment',
})
const Prefix = Type.String({
  pattern: '^[0-9]{0,15}$',
  description: 'Leading digits of the number, without +; empty matches every number. The longest match counts',
  examples: ['44'],
})
const Amount = Type.String({ pattern: '^[0-9]{1,6}(\\.[0-9]{1,6})?$', description: 'USD', examples: ['0.04'] })

const Price = Named('Price', Type.Object({ kind: Kind, prefix: Prefix, price: Type.String(), effective_at: Time }))

export const listPrices = contract({
  ...operator,
  id: 'listPrices',
  client: 'prices.list',
  method: 'GET',
  url: '/operator/prices',
  summary: 'List prices, including future ones; all of them without paging parameters',
  description: 'The longest matching prefix applies. Filter by kind and prefix.',
  query: Type.Object({
    kind: Type.Optional(Kind),
    prefix: Type.Optional({ ...Prefix, description: 'Only prices of exactly this prefix' }),
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({ ...pageFields, prices: Type.Array(Price) }),
  errors: {},
  cli: 'prices list',
})

export const setPrices = contract({
  ...operator,
  id: 'setPrices',
  client: 'prices.set',
  method: 'PUT',
  url: '/operator/prices',
  summary: 'Set prices by kind, prefix and effective date; other prices do not change',
  description: 'The longest matching prefix applies. Prices with a later effective_at do not apply before that time.',
  body: Type.Object({
    prices: Type.Array(
      Named(
        'PriceChange',
        Type.Object({
          kind: Kind,
          prefix: Prefix,
          price: Amount,
          effective_at: Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description: 'Default: now' })),
        }),
      ),
      { minItems: 1, maxItems: 2000 },
    ),
  }),
  status: 200,
  reply: Ok({ count: Type.Integer({ description: 'Prices set' }) }),
  errors: {},
  cli: 'prices set',
})

export const deletePrice = contract({
  ...operator,
  id: 'deletePrice',
  client: 'prices.delete',
  method: 'DELETE',
  url: '/operator/prices',
  summary: 'Delete one price by kind, prefix and effective date; the previous price applies again',
  description: 'Prices that were charged before do not change.',
  query: Type.Object({
    kind: Kind,
    prefix: Type.Optional({
      ...Prefix,
      description: 'Prefix of the price. Default: empty, which matches every number',
    }),
    effective_at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'The date as listed. Optional if the kind and prefix have only one price',
      }),
    ),
  }),
  status: 200,
  reply: Ok({ price: Price }),
  errors: {
    notFound: 'No such price',
    conflict: 'This kind and prefix have prices of several dates (several_prices)',
  },
  cli: 'prices delete',
})

export const importPrices = contract({
  ...operator,
  id: 'importPrices',
  client: 'prices.import',
  method: 'POST',
  url: '/operator/prices/import',
  summary:
    'Import prices from CSV: kind, prefix, price, effective_at (optional). One bad line rejects the whole import',
  description: 'The longest matching prefix applies. Prices with a later effective_at do not apply before that time.',
  bodyLimit: 16 * 1024 * 1024,
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['kind,prefix,price\nsms_out,44,0.04\n'],
  }),
  status: 201,
  reply: Ok({ count: Type.Integer({ description: 'Prices imported' }) }),
  codes: { unprocessable: ['invalid_csv'] },
  errors: { unprocessable: 'Some lines are invalid; the message lists the first ones with their line numbers' },
  cli: 'prices import',
})
