import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok } from '../../../platform/http/schema.ts'
import { Delivery, Moment, params, unknown, webhooks } from '../schemas.ts'

export const getDelivery = contract({
  ...webhooks,
  id: 'getDelivery',
  showsTexts: true,
  client: 'webhooks.getDelivery',
  method: 'GET',
  url: '/open/webhooks/deliveries/:delivery_id',
  summary: 'One delivery: the request as it was sent, and each attempt with its response',
  description:
    'Every attempt sends the same body. Response headers, and more than 1,000 characters of the response, are stored of failed attempts only.',
  params: Type.Object({ delivery_id: Id('WHD') }),
  status: 200,
  reply: Ok({
    delivery: Delivery,
    request: Named(
      'WebhookRequest',
      Type.Object({
        method: Type.Literal('POST'),
        body: Type.String({ description: 'The exact text: its bytes are what the signature covers' }),
        attempts: Type.Array(
          Type.Object({
            headers: Type.Record(Type.String(), Type.String(), {
              description:
                'Headers of the attempt but user-agent, those of HTTP and those that the webhook has of its own. webhook-timestamp and webhook-signature are absent where they are no longer known: after a rotation of the secret',
            }),
          }),
          { description: 'One for each of delivery.attempts, in its order' },
        ),
      }),
    ),
  }),
  errors: { notFound: 'The delivery does not exist or is not the account’s' },
})

const Point = Type.Unsafe<readonly (string | number)[]>({
  type: 'array',
  items: { type: ['string', 'integer'] },
  'x-columns': ['time', 'delivered', 'failed', 'p50_ms', 'p95_ms'],
  description:
    '[time, delivered, failed, p50_ms, p95_ms]: start of the step, attempts answered 2xx, other attempts, and the milliseconds that half and 95 % of the attempts did not exceed',
  examples: [['2026-11-21T06:00:00Z', 120, 3, 45, 220]],
})

export const getWebhookStats = contract({
  ...webhooks,
  id: 'getWebhookStats',
  csv: 'points',
  client: 'webhooks.stats',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid/stats',
  summary: 'Calls of a webhook by hour or day: delivered, failed, and their duration',
  description:
    'Counts are complete after 10 s. Durations are estimated from a histogram, to within a quarter. Hours without a call have no point.',
  params,
  query: Type.Object({
    since: Type.Optional(Moment('Rounded down to the step. Default: 24 hours, or 30 days, before until')),
    until: Type.Optional(Moment('Default: now')),
    step: Type.Optional(
      Enum(['hour', 'day'], { description: 'UTC. hour: for at most 31 days; day: for at most 366. Default: hour' }),
    ),
    endpoint: Type.Optional(
      Enum(['true', 'false'], { description: 'true: every webhook with the same hook_url together. Default: false' }),
    ),
  }),
  status: 200,
  reply: Ok({
    points: Type.Array(Point, { description: 'Oldest first' }),
    delivered: Type.Integer({ description: 'Sum of the points' }),
    failed: Type.Integer(),
  }),
  errors: { invalid: 'since is not before until, or the period is too long for the step', notFound: unknown },
})
