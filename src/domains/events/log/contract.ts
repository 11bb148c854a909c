import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'
import { timelineFields } from '../../timelines/contract.ts'
import { AnyEvent } from '../contract.ts'

const events = { auth: 'account', needs: 'read_only', shape: 'full', tag: 'Events' } as const

const LoggedEvent = Named(
  'LoggedEvent',
  Type.Object({
    uuid: Id('EVT'),
    name: Type.String({ examples: ['sms.message.received'] }),
    at: Time,
    channel_uuid: Type.Optional(
      Type.String({
        description: 'SMS channel, virtual number or channel of the messaging app; absent for the whole account',
      }),
    ),
    test: Type.Optional(Type.Literal(true, { description: 'Made to test one webhook' })),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'As webhooks receive it. Contents of messages, and personal data, are masked (•••) for readers who may not see all conversations: they need inbox and inbox.all. Masked payloads have redacted: true',
      },
    ),
  }),
)

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

export const listEvents = contract({
  ...events,
  id: 'listEvents',
  showsTexts: true,
  csv: 'events',
  client: 'eventLog.list',
  method: 'GET',
  url: '/open/events',
  summary: 'The events of the account, newest first; after an event, oldest first',
  description:
    'Filter by name, channel, conversation and time. A page with a filter examines 10,000 events, so a short page may have a next_cursor.',
  query: Type.Object({
    name: Type.Optional(AnyEvent),
    channel_uuid: Type.Optional(
      Type.String({
        pattern: '^(?:SMS|DID|WPN)',
        maxLength: 64,
        description: 'An SMS channel, a virtual number, or a channel of the messaging app',
        examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
    ),
    conversation: Type.Optional(
      Id('CNV', 'Events of this conversation, and of the messages and calls with its counterpart'),
    ),
    after: Type.Optional(
      Id('EVT', 'Only later events, oldest first. Events may appear up to 10 s late, before ones already listed'),
    ),
    since: Moment,
    until: Moment,
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 300, description: 'next_cursor of the previous page' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    events: Type.Array(LoggedEvent),
    next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
  }),
  errors: { notFound: 'The channel, the conversation or the event does not exist or is not the account’s' },
})

export const getEvent = contract({
  ...events,
  id: 'getEvent',
  showsTexts: true,
  client: 'eventLog.get',
  method: 'GET',
  url: '/open/events/:event_uuid',
  summary: 'One event, its deliveries to each webhook, and its timeline',
  description: 'Use it to find out whether a receiver got an event, and what it answered.',
  params: Type.Object({ event_uuid: Id('EVT') }),
  status: 200,
  reply: Ok({
    event: LoggedEvent,
    deliveries: Type.Array(
      Named(
        'EventDelivery',
        Type.Object({
          id: Id('WHD'),
          webhook_uuid: Id('WHK'),
          host: Type.String({ description: 'Host of the receiver', examples: ['hook.example.com'] }),
          state: Enum(['pending', 'delivered', 'failed']),
          attempts: Type.Integer({ description: 'Calls in the timeline: the last 20 at most' }),
          next_attempt_at: Type.Optional(Time),
          response_status: Type.Optional(
            Type.Integer({ description: 'Answer to the last call; absent without an answer' }),
          ),
        }),
      ),
      { description: 'One for each webhook that subscribed when the event occurred; at most 200' },
    ),
    ...timelineFields,
  }),
  errors: { notFound: 'No such event of the account' },
})
