import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok } from '../../../platform/http/schema.ts'
import {
  Address,
  audited,
  ChannelId,
  ListedWebhook,
  requestHeaders,
  SigningSecret,
  Webhook,
  webhooks,
} from '../schemas.ts'

// An endpoint is an address. A webhook subscribes it to one event; these operations treat its webhooks as one.

export const createEndpoint = contract({
  ...audited,
  id: 'createEndpoint',
  makes: 'webhook',
  ownAnswer: true,
  client: 'webhooks.createEndpoint',
  method: 'POST',
  url: '/open/webhooks',
  summary: 'Subscribe an address to several events',
  description:
    'Creates one webhook for each event, in one transaction; webhooks that exist are enabled. ' +
    'All new webhooks get the signing secret, and without headers the headers, of the newest webhook of that address.',
  body: Type.Object(
    {
      hook_url: Address,
      ...requestHeaders,
      event_names: Type.Array(Type.String({ maxLength: 100, examples: ['contact.created', 'number.purchased'] }), {
        minItems: 1,
        maxItems: 50,
        description: 'Names as in listEventTypes',
        examples: [['contact.created', 'number.purchased']],
      }),
      channel_uuid: Type.Optional(ChannelId),
      replace: Type.Optional(
        Type.Boolean({
          description:
            'true: deletes webhooks of the same address and channel for other events. Events of the account are of every channel. Default: false',
        }),
      ),
    },
    { examples: [{ hook_url: 'https://example.com/hook', event_names: ['contact.created', 'number.purchased'] }] },
  ),
  status: 201,
  also: { 200: 'All subscriptions existed already; they are now enabled' },
  reply: Named(
    'NewEndpoint',
    Ok({
      endpoint_uuid: Id('WHE'),
      webhooks: Type.Array(Webhook, { description: 'In the order of event_names' }),
      signing_secret: Type.Unsafe<string>({
        ...SigningSecret,
        description:
          'The secret of the new webhooks; without new ones, of the newest webhook. Only this response shows it',
      }),
    }),
  ),
  codes: { invalid: ['unknown_event', 'channel_missing'] },
  errors: {
    invalid:
      'Unknown event, missing channel, channel without such events (event_not_of_channel), refused header, or refused address (hook_url_refused)',
    forbidden: 'An event has contents that the caller may not see (contents_not_visible)',
    notFound: 'The channel does not exist or is not the account’s',
  },
})

export const listEndpoints = contract({
  ...webhooks,
  id: 'listEndpoints',
  client: 'webhooks.endpoints',
  method: 'GET',
  url: '/open/webhooks/endpoints',
  summary: 'The webhooks of the account by address, enabled or not',
  description:
    'An endpoint is an address. Pass endpoint: true to change, rotate or delete all its webhooks in one step.',
  status: 200,
  reply: Ok({
    endpoints: Type.Array(
      Named(
        'WebhookEndpoint',
        Type.Object({
          endpoint_uuid: Id('WHE'),
          hook_url: Type.Unsafe<string>(ListedWebhook.properties.hook_url),
          state: Enum(['active', 'failing', 'paused', 'disabled'], {
            description: 'failing, if any webhook is; else active, if any is; else disabled, if any is; else paused',
          }),
          webhooks: Type.Array(ListedWebhook, { description: 'Oldest first' }),
        }),
      ),
      { description: 'In the order of their oldest webhooks' },
    ),
  }),
  errors: {},
})
