import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Country, Decimal, Enum, Named, Ok, Time } from '../../../platform/http/schema.ts'
import { groupTypes } from '../catalogue/catalogue-rows.ts'
import { GroupId } from '../number-schemas.ts'

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
  group_id: Type.Optional({ ...GroupId, description: 'Only this group; its price takes precedence over all others' }),
}

export const listNumberPrices = contract({
  ...operator,
  id: 'listNumberPrices',
  client: 'numberPrices.list',
  method: 'GET',
  url: '/operator/numbers/prices',
  summary: 'Prices of numbers by country and type, prefix or group, including future prices',
  description: 'The most specific price applies: a group or a prefix before a whole country and type.',
  status: 200,
  reply: Ok({
    prices: Type.Array(
      Named(
        'NumberPriceChange',
        Type.Object({
          ...which,
          setup_price: Decimal,
          monthly_price: Decimal,
          price_per_minute: Decimal,
          effective_at: Time,
        }),
      ),
    ),
  }),
  errors: {},
  cli: 'number-prices list',
})

export const setNumberPrices = contract({
  ...operator,
  id: 'setNumberPrices',
  client: 'numberPrices.set',
  method: 'PUT',
  url: '/operator/numbers/prices',
  summary: 'Set prices of numbers from a date on; numbers bought before keep their price',
  description: 'Prices of the same kind and date are replaced. Other prices stay unchanged.',
  body: Type.Object(
    {
      prices: Type.Array(
        Named(
          'NumberPrice',
          Type.Object({
            ...which,
            setup_price: Type.Optional({ ...Amount, default: '0' }),
            monthly_price: Amount,
            price_per_minute: Type.Optional({ ...Amount, default: '0' }),
            effective_at: Type.Optional(
              Type.String({ format: 'date-time', maxLength: 40, description: 'Default: now' }),
            ),
          }),
        ),
        { minItems: 1, maxItems: 2000 },
      ),
    },
    { examples: [{ prices: [{ country: 'GB', type: 'local', monthly_price: '1.50' }] }] },
  ),
  status: 200,
  reply: Ok({ count: Type.Integer({ description: 'Prices set' }) }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'A field is wrong, or there is no such country or group; the message names the field' },
  cli: 'number-prices set',
})

export const importNumberPrices = contract({
  ...operator,
  id: 'importNumberPrices',
  client: 'numberPrices.import',
  method: 'POST',
  url: '/operator/numbers/prices/import',
  summary:
    'Import prices of numbers from CSV. Columns: country, type, monthly_price; optional: prefix or group_id, setup_price, ' +
    'price_per_minute, effective_at. If any line is bad, nothing is imported',
  description: 'Prices with a later effective_at do not apply before that time. Other prices stay unchanged.',
  bodyLimit: 16 * 1024 * 1024,
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['country,type,setup_price,monthly_price\nGB,local,0,1.50\n'],
  }),
  status: 201,
  reply: Ok({ count: Type.Integer({ description: 'Prices imported' }) }),
  codes: { unprocessable: ['invalid_csv'] },
  errors: { unprocessable: 'Lines that are wrong; the message lists the first of them with their line numbers' },
  cli: 'number-prices import',
})
