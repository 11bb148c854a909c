import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Ok, Time } from '../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: money' } as const

const Kind = Enum(['sms_out', 'sms_in', 'call_out', 'call_in'], {
  description: 'sms_out and sms_in: USD a segment; call_out and call_in: USD a minute',
})
const Prefix = Type.String({
  pattern: '^[0-9]{0,15}$',
  description: 'Leading digits of the number, without +; empty for every number. The longest one that fits counts',
  examples: ['44'],
})
const Amount = Type.String({ pattern: '^[0-9]{1,6}(\\.[0-9]{1,6})?$', description: 'USD', examples: ['0.04'] })

const Price = Type.Object({ kind: Kind, prefix: Prefix, price: Type.String(), effective_at: Time })

export const listPrices = contract({
  ...operator,
  id: 'listPrices',
  method: 'GET',
  url: '/operator/prices',
  summary: 'All prices, those of the future too',
  status: 200,
  reply: Ok({ prices: Type.Array(Price) }),
  errors: {},
  cli: 'prices list',
})

export const setPrices = contract({
  ...operator,
  id: 'setPrices',
  method: 'PUT',
  url: '/operator/prices',
  summary: 'Set prices by kind, prefix and effective date; the others stay',
  body: Type.Object({
    prices: Type.Array(
      Type.Object({
        kind: Kind,
        prefix: Prefix,
        price: Amount,
        effective_at: Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description: 'Default: now' })),
      }),
      { minItems: 1, maxItems: 2000 },
    ),
  }),
  status: 200,
  reply: Ok({ count: Type.Integer({ description: 'Prices set' }) }),
  errors: {},
  cli: 'prices set',
})

export const importPrices = contract({
  ...operator,
  id: 'importPrices',
  method: 'POST',
  url: '/operator/prices/import',
  summary:
    'Import prices from CSV: kind, prefix, price, effective_at (optional). One bad line, and nothing is imported',
  bodyLimit: 16 * 1024 * 1024,
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['kind,prefix,price\nsms_out,44,0.04\n'],
  }),
  status: 201,
  reply: Ok({ count: Type.Integer({ description: 'Prices imported' }) }),
  errors: { unprocessable: 'Lines that are wrong; the message lists the first of them with their line numbers' },
  cli: 'prices import',
})
