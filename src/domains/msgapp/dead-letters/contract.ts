import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: messaging app', status: 200 } as const

export const listDeadLetters = contract({
  ...operator,
  id: 'listSetAside',
  client: 'deadLetters.list',
  method: 'GET',
  url: '/operator/set-aside',
  summary:
    'Dead letters of chat networks: inbound events that the database rejects, oldest first, at most 100 at a time',
  description: 'Each entry shows the channel, the reason and the time. Retry an entry after its cause is fixed.',
  query: Type.Object({
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
  }),
  reply: Ok({
    set_aside: Type.Array(
      Named(
        'DeadLetter',
        Type.Object({
          uuid: Id('ASD'),
          account_uuid: Id('ACC'),
          channel_uuid: Id('WPN'),
          phone_number: Type.String(),
          platform: Type.String(),
          what: Type.String({ examples: ['inbound'] }),
          reason: Confidential(Type.String({ description: 'PostgreSQL’s message, preceded by its SQLSTATE' })),
          content: Confidential(Type.String({ description: 'As JSON; its first 4,000 characters' })),
          created_at: Time,
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
  }),
  errors: {},
  cli: 'dead-letters list',
})

export const retryDeadLetter = contract({
  ...operator,
  id: 'retrySetAside',
  client: 'deadLetters.retry',
  method: 'POST',
  url: '/operator/set-aside/:uuid/retry',
  summary: 'Retry a dead letter after its cause is fixed',
  description: 'The event is processed as if it had just arrived. On success the dead letter is removed.',
  params: Type.Object({ uuid: Id('ASD') }),
  reply: Success,
  codes: { conflict: ['still_refused'] },
  errors: { notFound: 'No such dead letter', conflict: 'The database still rejects it; the message says why' },
  cli: 'dead-letters retry',
})
