import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'
import {
  Address,
  audited,
  ChannelId,
  Delivery,
  disabled,
  health,
  ListedWebhook,
  Moment,
  params,
  Replay,
  ReplayMode,
  record,
  requestHeaders,
  SigningSecret,
  unknown,
  Webhook,
  WholeEndpoint,
  webhooks,
} from './schemas.ts'

export const subscribeWebhook = contract({
  ...audited,
  id: 'subscribeWebhook',
  makes: 'webhook',
  ownAnswer: true,
  client: 'webhooks.subscribe',
  method: 'POST',
  url: '/open/webhooks/subscribe/:event_name',
  summary: 'Subscribe to an event on a channel',
  description:
    'Only this response shows the signing secret. ' +
    'A repeated subscription of the same address enables the webhook again. ' +
    'Events with contents need the right to see all conversations.',
  params: Type.Object({
    event_name: Type.String({ maxLength: 100, examples: ['sms.message.received', 'number.purchased'] }),
  }),
  body: Type.Object(
    {
      hook_url: Address,
      ...requestHeaders,
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
      'Unknown event, missing channel, channel without such events (event_not_of_channel), refused header, or refused address (hook_url_refused)',
    forbidden: 'The event has contents that the caller may not see (contents_not_visible)',
    notFound: 'The channel does not exist or is not the account’s',
    unprocessable: 'on_number is not E.164',
  },
})

export const listWebhooks = contract({
  ...webhooks,
  id: 'listWebhooks',
  csv: 'webhooks',
  client: 'webhooks.list',
  method: 'GET',
  url: '/open/webhooks',
  summary: 'The webhooks of the account, oldest first, with the health of their receivers',
  description: 'Only enabled webhooks by default. enabled=any adds the paused and disabled ones.',
  query: Type.Object({
    enabled: Type.Optional(Enum(['true', 'false', 'any'], { description: 'Default: true' })),
  }),
  status: 200,
  reply: Ok({ webhooks: Type.Array(ListedWebhook) }),
  errors: {},
})

export const listChannelWebhooks = contract({
  ...webhooks,
  id: 'listChannelWebhooks',
  csv: 'webhooks',
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
        ...health,
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
  summary: 'Change the address or headers of a webhook, pause it, or enable it again',
  description:
    'Absent fields stay unchanged. ' +
    'With another address, headers that are stored must be given again, or null. ' +
    'Another address, and enabling, need the right to see what the event has. ' +
    'A webhook that failed for five days or answered 410 is enabled again by enabled: true.',
  params,
  body: Type.Object(
    {
      hook_url: Type.Optional(Address),
      ...requestHeaders,
      enabled: Type.Optional(
        Type.Boolean({
          description:
            'false pauses: deliveries pending now fail, and events of the pause are skipped. ' +
            'After true, replayWebhook sends them: without since, from the start of the pause',
        }),
      ),
      endpoint: WholeEndpoint,
    },
    { examples: [{ enabled: false }] },
  ),
  status: 200,
  reply: Ok({ webhook: Webhook }),
  codes: { conflict: ['webhook_exists'], invalid: ['hook_url_refused'] },
  errors: {
    invalid: 'The address is refused (hook_url_refused), or a header',
    forbidden: 'The event has contents that the caller may not see (contents_not_visible)',
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
  query: Type.Object({
    endpoint: Type.Optional(
      Enum(['true', 'false'], { description: 'true: every webhook with the same hook_url. Default: false' }),
    ),
  }),
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})

export const rotateWebhookSecret = contract({
  ...audited,
  id: 'rotateWebhookSecret',
  makes: 'webhook',
  ownAnswer: true,
  proof: true,
  client: 'webhooks.rotateSecret',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/rotate-secret',
  summary: 'Create a new signing secret; the previous one also signs for 24 hours',
  description: 'Only this response shows the new secret. Receivers have 24 hours to take it over.',
  params,
  body: Type.Object({ endpoint: WholeEndpoint }),
  status: 200,
  reply: Ok({ signing_secret: SigningSecret, previous_secret_valid_until: Time }),
  errors: { notFound: unknown },
})

export const listDeliveries = contract({
  ...webhooks,
  id: 'listDeliveries',
  showsTexts: true,
  csv: 'deliveries',
  client: 'webhooks.deliveries',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid/deliveries',
  summary: 'Deliveries of a webhook, newest first, with each attempt and its response',
  description:
    'Filter by state to find failed deliveries, and send them again with redeliver or replayWebhook. ' +
    'By status_code or min_latency_ms, 5,000 deliveries are examined at a time: a short page may have a next_cursor.',
  params,
  query: Type.Object({
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
    per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'The same as results_per_page' })),
    state: Type.Optional(Enum(['pending', 'delivered', 'failed'])),
    event_name: Type.Optional(Type.String({ maxLength: 100, description: 'Only this event; useful with endpoint' })),
    since: Type.Optional(Moment('Only deliveries of events from this time on')),
    until: Type.Optional(Moment('Only deliveries of events before this time')),
    status_code: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 599, description: 'Some attempt was answered with this status' }),
    ),
    min_latency_ms: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 60_000, description: 'Some attempt took at least this long' }),
    ),
    endpoint: Type.Optional(
      Enum(['true', 'false'], {
        description: 'true: deliveries of every webhook with the same hook_url; of the newest 100. Default: false',
      }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Deliveries in this answer' }),
    deliveries: Type.Array(Delivery),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page' })),
  }),
  errors: { invalid: 'A parameter has a wrong value, or there is no such event (unknown_event)', notFound: unknown },
})

export const testWebhook = contract({
  ...webhooks,
  id: 'testWebhook',
  client: 'webhooks.test',
  method: 'POST',
  url: '/open/webhooks/:webhook_uuid/test',
  summary:
    'Send the newest event of its kind, or the present state that it reports, marked `test: true`; without either, only the mark and a note',
  description:
    'The test is delivered like any event, with signature and retries. Read the result with getDelivery. ' +
    'A payload of your own replaces the example; it is marked `test: true` too.',
  params,
  body: Type.Object({
    event_name: Type.Optional(
      Type.String({ maxLength: 100, description: 'The event of the webhook. Another one is refused: event_mismatch' }),
    ),
    payload: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'Body of the test: at most 64 KiB of JSON' }),
    ),
  }),
  status: 202,
  reply: Ok({ delivery_id: Id('WHD') }),
  codes: { invalid: ['event_mismatch', 'payload_too_large'] },
  errors: {
    invalid:
      'The event_name, or the field event of the payload, is not the event of the webhook (event_mismatch), or the payload is larger than 64 KiB (payload_too_large)',
    notFound: unknown,
    conflict: disabled,
  },
})

export const redeliver = contract({
  ...webhooks,
  id: 'redeliver',
  showsTexts: true,
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
    'By default only missed events are sent again. The receiver recognises repeated events by their webhook-ids. ' +
    'With dry_run, the events are counted and nothing is sent.',
  params,
  body: Type.Object(
    {
      since: Type.Optional(
        Type.Unsafe<string>({
          ...Time,
          description: 'Default: when the webhook was last disabled; required if it never was',
        }),
      ),
      until: Type.Optional({ ...Time, description: 'Default: now' }),
      only: Type.Optional(ReplayMode),
      dry_run: Type.Optional(Type.Boolean({ description: 'Default: false' })),
    },
    { examples: [{ since: '2026-11-20T00:00:00Z' }] },
  ),
  status: 202,
  reply: Ok({
    replay: Type.Optional(Replay),
    count: Type.Optional(Type.Integer({ description: 'Events that would be sent; only with dry_run' })),
    count_capped: Type.Optional(
      Type.Literal(true, { description: 'There may be more: 10,000 were found, or 100,000 events were examined' }),
    ),
  }),
  codes: { invalid: ['since_missing'] },
  errors: {
    invalid: 'since is required because the webhook was never disabled (since_missing), or is not before until',
    notFound: unknown,
    conflict: disabled,
  },
})

export const getReplay = contract({
  ...webhooks,
  id: 'getReplay',
  client: 'webhooks.getReplay',
  method: 'GET',
  url: '/open/webhooks/:webhook_uuid/replay',
  summary: 'Progress of the newest replay of a webhook',
  description: 'Events that it made due again are delivered after it: read them with listDeliveries.',
  params,
  status: 200,
  reply: Ok({ replay: Type.Optional(Replay) }),
  errors: { notFound: unknown },
})

export const listEventTypes = contract({
  ...webhooks,
  id: 'listEventTypes',
  client: 'webhooks.eventTypes',
  method: 'GET',
  url: '/open/webhooks/event-types',
  summary: 'All events that webhooks can receive, with the schemas of their bodies',
  description: 'The same as the webhooks of the OpenAPI document. Each schema is complete in itself.',
  status: 200,
  reply: Ok({
    event_types: Type.Array(
      Named(
        'EventType',
        Type.Object({
          event_name: Type.String({ examples: ['sms.message.received'] }),
          description: Type.String({ examples: ['An SMS arrived'] }),
          channel: Enum(['sms', 'call', 'msgapp', 'account'], {
            description:
              'Kind of channel that a subscription names: an SMS channel, a virtual number, or one of the messaging app. account: none',
          }),
          schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema (2020-12) of the body' }),
          example: Type.Object({}, { additionalProperties: true }),
        }),
      ),
    ),
  }),
  errors: {},
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
          ...health,
          account_uuid: Id('ACC'),
          pending: Type.Integer({ description: 'At most 10,000 are counted' }),
        }),
      ),
      { description: 'The 200 that have failed for longest' },
    ),
  }),
  errors: {},
  cli: 'webhooks show',
})
