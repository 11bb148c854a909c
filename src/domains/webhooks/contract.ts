import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'

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
  description: 'Called as given, query included. Addresses within the server’s network are refused',
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

const Webhook = Named('Webhook', Type.Object(record))
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
  client: 'webhooks.subscribe',
  method: 'POST',
  url: '/open/webhooks/subscribe/:event_name',
  summary: 'Subscribe to an event on a channel',
  description:
    'Only this response shows the signing secret. ' +
    'A repeated subscription of the same address enables the webhook again.',
  params: Type.Object({
    event_name: Type.String({ maxLength: 100, examples: ['sms.message.received', 'number.purchased'] }),
  }),
  body: Type.Object(
    {
      hook_url: Address,
      channel_uuid: Type.Optional(ChannelId),
      waweb_uuid: Type.Optional(Id('WPN', 'The same as channel_uuid, of a channel of the messaging app')),
      on_number: Type.Optional(
        Type.String({
          maxLength: 40,
          description:
            'The channel by its number, E.164. For call events, empty or absent means every number; account events take no number',
          examples: ['+447700900001'],
        }),
      ),
      to_group_uuid: Type.Optional(
        Type.String({
          pattern: '^WAG[0-9a-fA-F-]{36}$',
          description: 'Only events of this group',
          examples: ['WAG01a1fcca-93ab-7cbc-9f10-be702f775479'],
        }),
      ),
      time_period: Type.Optional(
        Enum(['all-time', 'hour', 'day', 'week', 'month', 'year'], {
          description: 'conversation.new only: the silence after which a conversation counts as new. Default: all-time',
        }),
      ),
    },
    { examples: [{ hook_url: 'https://example.com/hook', channel_uuid: 'SMS01a1fcca-93ab-7cbc-9f10-be702f775479' }] },
  ),
  status: 201,
  also: { 200: 'The subscription already existed; it is now enabled' },
  reply: Named('NewWebhook', Ok({ data: Type.Object({ ...record, signing_secret: SigningSecret }) })),
  codes: { invalid: ['unknown_event', 'channel_missing'] },
  errors: {
    invalid:
      'Unknown event, missing channel, channel without such events (event_not_of_channel), or refused address (hook_url_refused)',
    notFound: 'The channel does not exist or is not the account’s',
    unprocessable: 'on_number is not E.164',
  },
})

export const listWebhooks = contract({
  ...webhooks,
  id: 'listWebhooks',
  client: 'webhooks.list',
  method: 'GET',
  url: '/open/webhooks',
  summary: 'The enabled webhooks of the account',
  description: 'Disabled webhooks are not listed; read them by their uuid.',
  status: 200,
  reply: Ok({ webhooks: Type.Array(Webhook) }),
  errors: {},
})

export const listChannelWebhooks = contract({
  ...webhooks,
  id: 'listChannelWebhooks',
  client: 'webhooks.listOfChannel',
  method: 'GET',
  url: '/open/webhooks/channel/:channel_uuid',
  summary: 'The enabled webhooks of a channel',
  description: 'Webhooks for the whole account are not listed here.',
  params: Type.Object({ channel_uuid: ChannelId }),
  status: 200,
  reply: Ok({ webhooks: Type.Array(Webhook) }),
  errors: { notFound: 'The channel does not exist or is not the account’s' },
})

export const getWebhook = contract({
  ...webhooks,
  id: 'getWebhook',
  client: 'webhooks.get',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'One webhook, enabled or not, and the health of its receiver',
  description: 'Use it to find out why deliveries fail, together with listDeliveries.',
  params,
  status: 200,
  reply: Ok({
    webhook: Named(
      'WebhookHealth',
      Type.Object({
        ...record,
        failures: Type.Integer({ description: 'Consecutive failed calls' }),
        failing_since: Type.Optional(Time),
        last_success_at: Type.Optional(Time),
        previous_secret_valid_until: Type.Optional(Time),
      }),
    ),
  }),
  errors: { notFound: unknown },
})

export const changeWebhook = contract({
  ...audited,
  id: 'changeWebhook',
  client: 'webhooks.update',
  method: 'PUT',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'Change the address of a webhook, pause it, or enable it again',
  description:
    'Absent fields stay unchanged. ' +
    'A webhook that failed for five days or answered 410 is enabled again by enabled: true.',
  params,
  body: Type.Object(
    {
      hook_url: Type.Optional(Address),
      enabled: Type.Optional(
        Type.Boolean({
          description: 'false pauses: deliveries pending now fail, and events of the pause can be replayed',
        }),
      ),
    },
    { examples: [{ enabled: false }] },
  ),
  status: 200,
  reply: Ok({ webhook: Webhook }),
  codes: { conflict: ['webhook_exists'], invalid: ['hook_url_refused'] },
  errors: {
    invalid: 'The address is refused (hook_url_refused)',
    notFound: unknown,
    conflict: 'Another webhook has the same subscription and address',
  },
})

export const deleteWebhook = contract({
  ...audited,
  id: 'deleteWebhook',
  client: 'webhooks.delete',
  method: 'DELETE',
  url: '/open/webhooks/:webhook_uuid',
  summary: 'Unsubscribe',
  description:
    'The subscription ends at once, and pending deliveries fail. ' +
    'Pause a webhook with changeWebhook to keep its deliveries readable.',
  params,
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})

export const rotateWebhookSecret = contract({
  ...audited,
  id: 'rotateWebhookSecret',
  proof: true,
  client: 'webhooks.rotateSecret',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/rotate-secret',
  summary: 'Create a new signing secret; the previous one also signs for 24 hours',
  description: 'Only this response shows the new secret. Receivers have 24 hours to take it over.',
  params,
  status: 200,
  reply: Ok({ signing_secret: SigningSecret, previous_secret_valid_until: Time }),
  errors: { notFound: unknown },
})

const Attempt = Named(
  'DeliveryAttempt',
  Type.Object({
    at: Time,
    response_status: Type.Optional(Type.Integer({ description: 'Absent when there was no answer' })),
    latency_ms: Type.Integer(),
    response_excerpt: Type.Optional(Type.String({ description: 'The first 1,000 characters' })),
    error: Type.Optional(Type.String()),
  }),
)

const Delivery = Named(
  'WebhookDelivery',
  Type.Object({
    id: Id('WHD'),
    event_name: Type.String(),
    created_at: Time,
    state: Enum(['pending', 'delivered', 'failed']),
    next_attempt_at: Type.Optional(Time),
    payload: Type.Object({}, { additionalProperties: true, description: 'Body of the request' }),
    attempts: Type.Array(Attempt, { description: 'The last 20, oldest first' }),
  }),
)

export const listDeliveries = contract({
  ...webhooks,
  id: 'listDeliveries',
  client: 'webhooks.deliveries',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid/deliveries',
  summary: 'Deliveries of a webhook, newest first, with each attempt and its response',
  description: 'Filter by state to find failed deliveries, and send them again with redeliver or replayWebhook.',
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
  client: 'webhooks.test',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/test',
  summary:
    'Send the newest event of its kind, or the present state that it reports, marked `test: true`; without either, only the mark and a note',
  description: 'The test is delivered like any event, with signature and retries. Read the result with listDeliveries.',
  params,
  status: 202,
  reply: Ok({ delivery_id: Id('WHD') }),
  errors: {
    notFound: unknown,
    conflict: disabled,
  },
})

export const redeliver = contract({
  ...webhooks,
  id: 'redeliver',
  client: 'webhooks.redeliver',
  method: 'POST',
  url: '/open/webhooks/deliveries/:delivery_id/redeliver',
  summary: 'Send an event again with its original webhook-id',
  description: 'The receiver recognises the repeated event by its webhook-id. The webhook must be enabled.',
  params: Type.Object({ delivery_id: Id('WHD') }),
  status: 202,
  reply: Ok({ delivery: Delivery }),
  errors: { notFound: 'The delivery does not exist or is not the account’s', conflict: disabled },
})

export const replayWebhook = contract({
  ...webhooks,
  id: 'replayWebhook',
  client: 'webhooks.replay',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/replay',
  summary: 'Send the events of a time window again, in order, with their original webhook-ids',
  description:
    'By default only missed events are sent again. The receiver recognises repeated events by their webhook-ids.',
  params,
  body: Type.Object({
    since: Time,
    until: Type.Optional({ ...Time, description: 'Default: now' }),
    only: Type.Optional(
      Enum(['missed', 'all'], {
        description:
          'missed: events whose delivery failed, or that occurred while the webhook was disabled. Default: missed',
      }),
    ),
  }),
  status: 202,
  reply: Success,
  errors: { notFound: unknown, conflict: disabled },
})

export const showWebhooks = contract({
  id: 'showWebhooks',
  client: 'webhooks.list',
  auth: 'operator',
  shape: 'full',
  tag: 'Webhooks',
  method: 'GET',
  url: '/operator/webhooks',
  summary: 'Backlog of the webhooks of all accounts, and the webhooks that are disabled or failing',
  description: 'Use it to find receivers that fall behind. Addresses are masked for observers.',
  status: 200,
  reply: Ok({
    pending: Type.Integer({ description: 'Deliveries neither made nor abandoned' }),
    oldest_pending_seconds: Type.Integer(),
    backlog: Type.Integer({
      description: 'Events whose deliveries are created later, at their account’s rate; counted up to 100,000',
    }),
    enabled: Type.Integer(),
    failing: Type.Integer({ description: 'Enabled, and the last call failed' }),
    disabled: Type.Integer(),
    webhooks: Type.Array(
      Named(
        'FailingWebhook',
        Type.Object({
          ...record,
          account_uuid: Id('ACC'),
          pending: Type.Integer({ description: 'At most 10,000 are counted' }),
          failures: Type.Integer(),
          failing_since: Type.Optional(Time),
          last_success_at: Type.Optional(Time),
        }),
      ),
      { description: 'The 200 that have failed for longest' },
    ),
  }),
  errors: {},
  cli: 'webhooks show',
})
