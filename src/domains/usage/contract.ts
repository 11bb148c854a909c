import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Decimal, Enum, Named, Ok, Time } from '../../platform/http/schema.ts'
import { usageDimensions, usageKinds, usageSteps } from './dimensions.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

/** Start of the period, items, units, and the amount for a key with the scope `money`. */
export type UsagePoint = [time: string, n: number, units: number, amount?: string]

const Point = Type.Unsafe<UsagePoint>({
  type: 'array',
  minItems: 3,
  maxItems: 4,
  items: { type: ['string', 'integer'] },
  'x-columns': ['time', 'n', 'units', 'amount'],
  description:
    '[time, n, units, amount?]: start of the period (UTC), items, units, USD. The amount needs the scope money',
  examples: [['2026-11-21T00:00:00Z', 12, 15, '0.60']],
})

const Adjustment = Named(
  'UsageAdjustment',
  Type.Object({
    kind: Enum(['credit', 'debit', 'correction', 'write_off']),
    n: Type.Integer(),
    amount: Type.String({ description: 'USD; negative: taken from the balance', examples: ['25.00'] }),
  }),
)

export const getUsage = contract({
  id: 'getUsage',
  csv: 'series.points',
  client: 'money.usage',
  auth: 'account',
  needs: 'read_only',
  method: 'GET',
  url: '/open/usage',
  tag: 'Money',
  shape: 'full',
  summary: 'Usage by day, week or month, split by kind, country, channel, status or direction',
  description:
    'Days, weeks (from Monday) and months are those of UTC. The amounts add up to the ledger: total.amount is what ' +
    'messages, calls and numbers cost, less refunds. Units are segments of messages, seconds of calls, and one for a fee.',
  query: Type.Object({
    since: Type.Optional(Moment('From the start of this UTC day. Default: 30 days before until')),
    until: Type.Optional(Moment('To the start of this UTC day, or to its end for a later time. Default: now')),
    step: Type.Optional(Enum([...usageSteps], { description: 'Default: day' })),
    by: Type.Optional(
      Enum([...usageDimensions], {
        description:
          'Default: kind. country: of the other party, or of the number of a fee. channel: SMS… of a message, DID… of a call or a fee. status: charged or refunded',
      }),
    ),
    kind: Type.Optional(Enum([...usageKinds], { description: 'Only usage of this kind', examples: ['sms'] })),
  }),
  status: 200,
  reply: Ok({
    since: Type.Unsafe<string>({ ...Time, description: 'Start of the first day' }),
    until: Type.Unsafe<string>({ ...Time, description: 'End of the last day' }),
    step: Enum([...usageSteps]),
    by: Enum([...usageDimensions]),
    series: Type.Array(
      Named(
        'UsageSeries',
        Type.Object({
          by: Type.String({
            description: 'Kind, country, id of a channel, status or direction; none: it has none; other: the rest',
            examples: ['sms'],
          }),
          points: Type.Array(Point, { description: 'Periods without usage are left out' }),
        }),
      ),
      { description: 'At most 100, the costliest first; the others are added up as other' },
    ),
    total: Named(
      'UsageTotal',
      Type.Object({
        n: Type.Integer({ description: 'Items: messages, calls and fees; refunds are not counted' }),
        units: Type.Integer(),
        amount: Type.Optional(Decimal),
      }),
    ),
    adjustments: Type.Optional(
      Type.Array(Adjustment, { description: 'Credits, debits and corrections in these days; with the scope money' }),
    ),
  }),
  codes: { unavailable: ['usage_behind'] },
  errors: {
    invalid: 'since is not before until, or more than 400 days before it',
    unavailable: 'Usage is being counted again (usage_behind): try again later',
  },
})
