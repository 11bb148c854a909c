import { Type } from 'typebox'
import { Confidential, mask } from '../../platform/http/confidential.ts'
import { Enum, Id, Named, Time } from '../../platform/http/schema.ts'
import { maxBasicAuthLength, maxRequestHeaderValue } from './limits.ts'

// Parts that the contracts of webhooks share.

export const webhooks = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Webhooks' } as const
export const audited = { ...webhooks, audited: true } as const

/** A channel of any kind. */
export const ChannelId = Type.String({
  pattern: '^(?:SMS|DID|WPN)',
  maxLength: 64,
  description: 'An SMS channel, a virtual number, or a channel of the messaging app',
  examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
})

export const Address = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Called as given, query included. Addresses within the server’s network are refused',
  examples: ['https://example.com/hook'],
})

/** Headers of calls, in the fields of a request. */
export const requestHeaders = {
  headers: Type.Optional(
    Confidential(
      Type.Union([Type.Record(Type.String(), Type.String({ maxLength: maxRequestHeaderValue })), Type.Null()], {
        description: `Headers of each call, at most 10, such as Authorization. They are sealed and never returned. Refused: host, webhook-*, content-*, and those of the connection. They replace the stored ones; ${mask} as a value keeps one. null removes all`,
        examples: [{ Authorization: 'Bearer a-token-of-the-receiver' }],
      }),
    ),
  ),
  basic_auth: Type.Optional(
    Confidential(
      Type.Union(
        [
          Named(
            'BasicCredentials',
            Type.Object({
              username: Type.String({ maxLength: maxBasicAuthLength }),
              password: Type.String({ maxLength: maxBasicAuthLength }),
            }),
          ),
          Type.Null(),
        ],
        {
          description: 'Sent as the header Authorization (RFC 7617); null removes it. Sealed and never returned',
          examples: [{ username: 'trunkline', password: 'a-password' }],
        },
      ),
    ),
  ),
}

export const record = {
  uuid: Id('WHK'),
  endpoint_uuid: Id('WHE', 'The same for all webhooks of the account with this hook_url'),
  event_name: Type.String({ examples: ['sms.message.received'] }),
  channel_uuid: Type.Optional(Type.String({ description: 'Absent where the event concerns the whole account' })),
  hook_url: Confidential(Type.String({ examples: ['https://example.com/hook'] }), 'path'),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: `The headers of its calls by name; each value is ${mask}. Absent without any`,
    }),
  ),
  hook_params: Type.Record(Type.String(), Type.String()),
  to_group_uuid: Type.Optional(Type.String()),
  time_period: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  disabled_reason: Type.Optional(
    Enum(['paused', 'gone', 'failing'], {
      description: 'paused: by a PUT. gone: the receiver answered 410. failing: five days without a success',
    }),
  ),
  disabled_at: Type.Optional(Type.Unsafe<string>({ ...Time, description: 'Absent while the webhook is enabled' })),
  created_at: Time,
}

export const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

/** Field that extends an operation to the whole endpoint. */
export const WholeEndpoint = Type.Optional(
  Type.Boolean({ description: 'true: for every webhook with the same hook_url, in one step. Default: false' }),
)

export const health = {
  state: Enum(['active', 'failing', 'paused', 'disabled'], {
    description:
      'failing: enabled, and the last call failed. paused: by a PUT. disabled: by the platform; disabled_reason says why',
  }),
  failures: Type.Integer({ description: 'Consecutive failed calls' }),
  failing_since: Type.Optional(Time),
  disables_at: Type.Optional(
    Type.Unsafe<string>({ ...Time, description: 'The webhook is disabled then, unless a call succeeds before' }),
  ),
  last_success_at: Type.Optional(Time),
}

/** A webhook and the health of its receiver. */
export const ListedWebhook = Named('ListedWebhook', Type.Object({ ...record, ...health }))

export const Webhook = Named('Webhook', Type.Object(record))
export const SigningSecret = Confidential(
  Type.String({
    description: 'Verifies calls by Standard Webhooks (standardwebhooks.com)',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  }),
)

export const params = Type.Object({ webhook_uuid: Id('WHK') })
export const unknown = 'The webhook does not exist or is not the account’s'
export const disabled = 'The webhook is disabled (webhook_disabled), or the Idempotency-Key was used with another body'

const Attempt = Named(
  'DeliveryAttempt',
  Type.Object({
    at: Time,
    response_status: Type.Optional(Type.Integer({ description: 'Absent when there was no answer' })),
    latency_ms: Type.Integer(),
    response_excerpt: Type.Optional(
      Type.String({ description: 'The first 1,000 characters of the body; 4,000 of a failed call' }),
    ),
    response_headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Only of a failed call: at most 20, of 200 characters each',
      }),
    ),
    error: Type.Optional(Type.String()),
  }),
)

export const Delivery = Named(
  'WebhookDelivery',
  Type.Object({
    id: Id('WHD'),
    webhook_uuid: Id('WHK'),
    event_uuid: Id('EVT', 'The webhook-id header'),
    event_name: Type.String(),
    created_at: Time,
    state: Enum(['pending', 'delivered', 'failed']),
    next_attempt_at: Type.Optional(Time),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'Body of the request. Contents are masked (•••), with redacted: true, for readers who may not see them: inbox and inbox.all show them',
      },
    ),
    attempts: Type.Array(Attempt, { description: 'The last 20, oldest first' }),
  }),
)

export const ReplayMode = Enum(['missed', 'all'], {
  description:
    'missed: events whose delivery failed, or that occurred while the webhook was disabled. ' +
    'all: also delivered ones, and those from before the webhook. Default: missed',
})

export const Replay = Named(
  'WebhookReplay',
  Type.Object({
    state: Enum(['running', 'done']),
    since: Time,
    until: Time,
    only: Enum(['missed', 'all']),
    sent: Type.Integer({ description: 'Events made due again so far' }),
    progress: Type.Number({ description: 'Part of the time window that is done, 0 to 1' }),
    started_at: Time,
    finished_at: Type.Optional(Time),
  }),
)
