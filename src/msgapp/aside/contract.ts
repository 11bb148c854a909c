import { Type } from 'typebox'
import { Confidential } from '../../http/confidential.ts'
import { contract } from '../../http/endpoint.ts'
import { Id, Ok, Time } from '../../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: messaging app', status: 200 } as const

export const listAside = contract({
  ...operator,
  id: 'listSetAside',
  method: 'GET',
  url: '/operator/set-aside',
  summary: 'What chat networks told and the database refuses, oldest first: at most 100 at a time',
  query: Type.Object({
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
  }),
  reply: Ok({
    set_aside: Type.Array(
      Type.Object({
        uuid: Id('ASD'),
        account_uuid: Id('ACC'),
        channel_uuid: Id('WPN'),
        phone_number: Type.String(),
        platform: Type.String(),
        what: Type.String({ examples: ['inbound'] }),
        reason: Confidential(Type.String({ description: 'What PostgreSQL said, behind its SQLSTATE' })),
        content: Confidential(Type.String({ description: 'As JSON; its first 4,000 characters' })),
        created_at: Time,
      }),
    ),
    next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
  }),
  errors: {},
  cli: 'set-aside list',
})

export const retryAside = contract({
  ...operator,
  id: 'retrySetAside',
  method: 'POST',
  url: '/operator/set-aside/:uuid/retry',
  summary: 'Keep something that was set aside, now that the cause is mended',
  params: Type.Object({ uuid: Id('ASD') }),
  reply: Ok({}),
  errors: { notFound: 'There is no such thing', conflict: 'The database refuses it still; the message says why' },
  cli: 'set-aside retry',
})
