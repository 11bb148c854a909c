import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Ok } from '../../../platform/http/schema.ts'
import { AnyEvent } from '../../events/contract.ts'

export const triggerEvent = contract({
  id: 'triggerEvent',
  client: 'events.trigger',
  needs: 'develop',
  auth: 'account',
  shape: 'full',
  tag: 'Sandbox',
  method: 'POST',
  url: '/sandbox/events/:event_name',
  waits: true,
  summary: 'Make an event happen, to test its webhooks',
  description:
    'The event happens for real where the sandbox can do it. Otherwise an example marked test: true is sent.',
  params: Type.Object({ event_name: AnyEvent }),
  body: Type.Object({
    channel_uuid: Type.Optional(
      Type.String({
        pattern: '^(?:SMS|DID|WPN)',
        maxLength: 64,
        description:
          'The channel of the event. Default: the channel of the event’s newest webhook, else the account’s newest channel',
        examples: ['WPN01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
    ),
  }),
  status: 202,
  reply: Ok({
    event_name: AnyEvent,
    channel_uuid: Type.Optional(Type.String({ description: 'Absent when the event concerns the whole account' })),
    via: Enum(['handset', 'account', 'example'], {
      description:
        'handset: a handset of the sandbox caused it. account: the account did, as with its own request; messages are charged. ' +
        'example: it cannot be triggered; the newest event or the present state was recorded with test: true',
    }),
  }),
  codes: { invalid: ['unknown_event'], conflict: ['conflict', 'channel_missing'] },
  errors: {
    invalid: 'No such event, or one that never happens on such a channel (event_not_of_channel)',
    notFound: 'The channel does not exist or is not the account’s',
    conflict:
      'The account has no channel for the event (channel_missing) or no example of it (no_example); the message names what is missing. Or the Idempotency-Key was used with another request',
  },
  cli: 'trigger',
})
