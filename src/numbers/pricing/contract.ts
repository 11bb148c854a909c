import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Country, Decimal, Enum, Ok, Time } from '../../http/schema.ts'
import { groupTypes } from '../rows.ts'
import { GroupId } from '../shapes.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: numbers' } as const

const Amount = Type.String({ pattern: '^[0-9]{1,6}(\\.[0-9]{1,6})?$', description: 'USD', examples: ['1.50'] })

const which = {
  country: Country,
  type: Enum([...groupTypes]),
  prefix: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}$',
      description: 'Leading digits of the prefix of a group, without the calling code; left out: every group',
      examples: ['20'],
    }),
  ),
  group_id: Type.Optional({ ...GroupId, description: 'One group alone; its price goes before all others' }),
}

export const listNumberPrices = contract({
  ...operator,
  id: 'listNumberPrices',
  method: 'GET',
  url: '/operator/numbers/prices',
  summary: 'What numbers cost by country and type, prefix or group, the prices of the future too',
  status: 200,
  reply: Ok({
    prices: Type.Array(
      Type.Object({
        ...which,
        setup_price: Decimal,
        monthly_price: Decimal,
        price_per_minute: Decimal,
        effective_at: Time,
      }),
    ),
  }),
  errors: {},
  cli: 'number-prices list',
})

export const setNumberPrices = contract({
  ...operator,
  id: 'setNumberPrices',
  method: 'PUT',
  url: '/operator/numbers/prices',
  summary: 'Set what numbers cost from a day on; numbers that were bought keep their price',
  body: Type.Object({
    prices: Type.Array(
      Type.Object({
        ...which,
        setup_price: Type.Optional({ ...Amount, default: '0' }),
        monthly_price: Amount,
        price_per_minute: Type.Optional({ ...Amount, default: '0' }),
        effective_at: Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description: 'Default: now' })),
      }),
      { minItems: 1, maxItems: 2000 },
    ),
  }),
  status: 200,
  reply: Ok({ count: Type.Integer({ description: 'Prices set' }) }),
  errors: { invalid: 'A field is wrong, or there is no such country or group; the message names it' },
  cli: 'number-prices set',
})

export const importNumberPrices = contract({
  ...operator,
  id: 'importNumberPrices',
  method: 'POST',
  url: '/operator/numbers/prices/import',
  summary:
    'Import prices of numbers from CSV: country, type, monthly_price; if you like prefix or group_id, setup_price, ' +
    'price_per_minute, effective_at. One bad line, and nothing is imported',
  bodyLimit: 16 * 1024 * 1024,
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['country,type,setup_price,monthly_price\nGB,local,0,1.50\n'],
  }),
  status: 201,
  reply: Ok({ count: Type.Integer({ description: 'Prices imported' }) }),
  errors: { unprocessable: 'Lines that are wrong; the message lists the first of them with their line numbers' },
  cli: 'number-prices import',
})
