import { Type } from 'typebox'
import { Confidential } from '../http/confidential.ts'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Time } from '../http/schema.ts'

const webhooks = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Webhooks' } as const
const audited = { ...webhooks, audited: true } as const

/** A channel of any kind. */
const ChannelId = Type.String({
  pattern: '^(?:SMS|DID|WPN)',
  maxLength: 64,
  description: 'An SMS channel, a virtual number, or a channel of the messaging app',
  examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
})

const Address = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Called as it is, query included. Addresses within the network of the server are refused',
  examples: ['https://example.com/hook'],
})

const record = {
  uuid: Id('WHK'),
  event_name: Type.String({ examples: ['sms.message.received'] }),
  channel_uuid: Type.Optional(Type.String({ description: 'Absent where the event concerns the whole account' })),
  hook_url: Confidential(Type.String({ examples: ['https://example.com/hook'] }), 'path'),
  hook_params: Type.Record(Type.String(), Type.String()),
  to_group_uuid: Type.Optional(Type.String()),
  time_period: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  disabled_reason: Type.Optional(
    Enum(['paused', 'gone', 'failing'], {
      description: 'paused: by a PUT. gone: the receiver answered 410. failing: five days without a success',
    }),
  ),
  created_at: Time,
}

const Webhook = Type.Object(record)
const SigningSecret = Confidential(
  Type.String({
    description: 'Verifies calls by Standard Webhooks (standardwebhooks.com)',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  }),
)

const params = Type.Object({ webhook_uuid: Id('WHK') })
const unknown = 'The webhook does not exist or is not the account’s'
const disabled = 'The webhook is disabled (webhook_disabled), or the Idempotency-Key was used with another body'

export const subscribeWebhook = contract({
  ...audited,
  id: 'subscribeWebhook',
  method: 'POST',
  url: '/open/webhooks/subscribe/:event_name',
  summary: 'Subscribe to an event on a channel',
  params: Type.Object({
    event_name: Type.String({ maxLength: 100, examples: ['sms.message.received', 'number.purchased'] }),
  }),
  body: Type.Object({
    hook_url: Address,
    channel_uuid: Type.Optional(ChannelId),
    waweb_uuid: Type.Optional(Id('WPN', 'The same as channel_uuid, of a channel of the messaging app')),
    on_number: Type.Optional(
      Type.String({
        maxLength: 40,
        description:
          'The channel by its number, E.164. Empty, or missing, is every number, for events of calls; events of the whole account take neither',
        examples: ['+447700900001'],
      }),
    ),
    to_group_uuid: Type.Optional(
      Type.String({
        pattern: '^WAG[0-9a-fA-F-]{36}$',
        description: 'Only what happens in this group',
        examples: ['WAG01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
    ),
    time_period: Type.Optional(
      Enum(['all-time', 'hour', 'day', 'week', 'month', 'year'], {
        description: 'Of conversation.new: how long nothing must have been written for it to be new. Default all-time',
      }),
    ),
  }),
  status: 201,
  also: { 200: 'The subscription was there already; it is enabled' },
  reply: Ok({ data: Type.Object({ ...record, signing_secret: SigningSecret }) }),
  errors: {
    invalid:
      'No such event, no channel where one is needed, one on which the event never happens (event_not_of_channel), or an address that is refused (hook_url_refused)',
    notFound: 'The channel does not exist or is not the account’s',
    unprocessable: 'on_number is not E.164',
  },
})

export const listWebhooks = contract({
  ...webhooks,
  id: 'listWebhooks',
  method: 'GET',
  url: '/open/webhooks',
  summary: 'The enabled webhooks of the account',
  status: 200,
  reply: Ok({ webhooks: Type.Array(Webhook) }),
  errors: {},
})

export const listChannelWebhooks = contract({
  ...webhooks,
  id: 'listChannelWebhooks',
  method: 'GET',
  url: '/open/webhooks/channel/:channel_uuid',
  summary: 'The enabled webhooks of a channel',
  params: Type.Object({ channel_uuid: ChannelId }),
  status: 200,
  reply: Ok({ webhooks: Type.Array(Webhook) }),
  errors: { notFound: 'The channel does not exist or is not the account’s' },
})

export const getWebhook = contract({
  ...webhooks,
  id: 'getWebhook',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'One webhook, enabled or not, and how its receiver is doing',
  params,
  status: 200,
  reply: Ok({
    webhook: Type.Object({
      ...record,
      failures: Type.Integer({ description: 'Calls that failed since the last one that did not' }),
      failing_since: Type.Optional(Time),
      last_success_at: Type.Optional(Time),
      previous_secret_valid_until: Type.Optional(Time),
    }),
  }),
  errors: { notFound: unknown },
})

export const changeWebhook = contract({
  ...audited,
  id: 'changeWebhook',
  method: 'PUT',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'Change the address of a webhook, pause it, or enable it again',
  params,
  body: Type.Object({
    hook_url: Type.Optional(Address),
    enabled: Type.Optional(
      Type.Boolean({
        description: 'false pauses: what happens meanwhile can be replayed, and what waited ends as failed',
      }),
    ),
  }),
  status: 200,
  reply: Ok({ webhook: Webhook }),
  errors: {
    invalid: 'The address is refused (hook_url_refused)',
    notFound: unknown,
    conflict: 'Another webhook is subscribed to the same with this address',
  },
})

export const deleteWebhook = contract({
  ...audited,
  id: 'deleteWebhook',
  method: 'DELETE',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'Unsubscribe',
  params,
  status: 200,
  reply: Ok({}),
  errors: { notFound: unknown },
})

export const rotateWebhookSecret = contract({
  ...audited,
  id: 'rotateWebhookSecret',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/rotate-secret',
  summary: 'Make a new signing secret; for 24 hours the one before signs too',
  params,
  status: 200,
  reply: Ok({ signing_secret: SigningSecret, previous_secret_valid_until: Time }),
  errors: { notFound: unknown },
})

const Attempt = Type.Object({
  at: Time,
  response_status: Type.Optional(Type.Integer({ description: 'Absent when there was no answer' })),
  latency_ms: Type.Integer(),
  response_excerpt: Type.Optional(Type.String({ description: 'The first 1,000 characters' })),
  error: Type.Optional(Type.String()),
})

const Delivery = Type.Object({
  id: Id('WHD'),
  event_name: Type.String(),
  created_at: Time,
  state: Enum(['pending', 'delivered', 'failed']),
  next_attempt_at: Type.Optional(Time),
  payload: Type.Object({}, { additionalProperties: true, description: 'What is sent' }),
  attempts: Type.Array(Attempt, { description: 'The last 20, oldest first' }),
})

export const listDeliveries = contract({
  ...webhooks,
  id: 'listDeliveries',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid/deliveries',
  summary: 'What a webhook was told, newest first, with each call and its answer',
  params,
  query: Type.Object({
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
    per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'The same as results_per_page' })),
    state: Type.Optional(Enum(['pending', 'delivered', 'failed'])),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Deliveries in this answer' }),
    deliveries: Type.Array(Delivery),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page' })),
  }),
  errors: { notFound: unknown },
})

export const testWebhook = contract({
  ...webhooks,
  id: 'testWebhook',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/test',
  summary: 'Send the webhook an example of its event, marked by `test: true`',
  params,
  status: 202,
  reply: Ok({ delivery_id: Id('WHD') }),
  errors: { notFound: unknown, conflict: disabled },
})

export const redeliver = contract({
  ...webhooks,
  id: 'redeliver',
  method: 'POST',
  url: '/open/webhooks/deliveries/:delivery_id/redeliver',
  summary: 'Send an event once more, with the webhook-id that it had',
  params: Type.Object({ delivery_id: Id('WHD') }),
  status: 202,
  reply: Ok({ delivery: Delivery }),
  errors: { notFound: 'The delivery does not exist or is not the account’s', conflict: disabled },
})

export const replayWebhook = contract({
  ...webhooks,
  id: 'replayWebhook',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/replay',
  summary: 'Send again what happened in a window of time, in its order, with the webhook-ids that it had',
  params,
  body: Type.Object({
    since: Time,
    until: Type.Optional({ ...Time, description: 'Default: now' }),
    only: Type.Optional(
      Enum(['missed', 'all'], { description: 'missed, the default: what failed, or happened while it was disabled' }),
    ),
  }),
  status: 202,
  reply: Ok({}),
  errors: { notFound: unknown, conflict: disabled },
})

export const showWebhooks = contract({
  id: 'showWebhooks',
  auth: 'operator',
  shape: 'full',
  tag: 'Webhooks',
  method: 'GET',
  url: '/operator/webhooks',
  summary: 'Backlog of webhooks over all accounts, and those that are disabled or fail',
  status: 200,
  reply: Ok({
    pending: Type.Integer({ description: 'Deliveries that were neither made nor given up' }),
    oldest_pending_seconds: Type.Integer(),
    backlog: Type.Integer({
      description: 'Events whose deliveries are made later, at the pace of their accounts; counted up to 100,000',
    }),
    enabled: Type.Integer(),
    failing: Type.Integer({ description: 'Enabled, and the last call failed' }),
    disabled: Type.Integer(),
    webhooks: Type.Array(
      Type.Object({
        ...record,
        account_uuid: Id('ACC'),
        pending: Type.Integer({ description: 'At most 10,000 are counted' }),
        failures: Type.Integer(),
        failing_since: Type.Optional(Time),
        last_success_at: Type.Optional(Time),
      }),
      { description: 'The 200 that have failed for longest' },
    ),
  }),
  errors: {},
  cli: 'webhooks show',
})
