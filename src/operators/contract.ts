import { Type } from 'typebox'
import { Confidential } from '../http/confidential.ts'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Time, Words } from '../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: keys' } as const

const Role = Enum(['operator', 'observer'], {
  description: 'operator: everything. observer: the GETs of /operator, without secrets, message texts and documents',
})

export const createOperatorKey = contract({
  ...operator,
  id: 'createOperatorKey',
  method: 'POST',
  url: '/operator/keys',
  summary: 'Create an operator key; the answer shows it this once',
  ownAnswer: true,
  body: Type.Object({ label: Words(100), role: Type.Optional({ ...Role, default: 'operator' as const }) }),
  status: 201,
  reply: Ok({
    uuid: Id('KEY'),
    label: Type.String(),
    role: Role,
    key: Confidential(Type.String({ examples: ['OPK…'] })),
  }),
  errors: {},
  cli: 'operators create-key',
})

export const listOperatorKeys = contract({
  ...operator,
  id: 'listOperatorKeys',
  method: 'GET',
  url: '/operator/keys',
  summary: 'Operator keys that are not revoked',
  status: 200,
  reply: Ok({
    keys: Type.Array(
      Type.Object({
        uuid: Id('KEY'),
        label: Type.String(),
        role: Role,
        last_four: Type.String(),
        created_at: Time,
        current: Type.Boolean({ description: 'The key of this very request' }),
      }),
    ),
  }),
  errors: {},
  cli: 'operators keys',
})

export const revokeOperatorKey = contract({
  ...operator,
  id: 'revokeOperatorKey',
  method: 'DELETE',
  url: '/operator/keys/:key_uuid',
  summary: 'Revoke another operator key: refused everywhere within a second',
  params: Type.Object({ key_uuid: Id('KEY') }),
  status: 200,
  reply: Ok({}),
  errors: {
    notFound: 'No such operator key',
    conflict:
      'It is the key of this very request (key_in_use), or the last one with the role operator (last_operator_key)',
  },
  cli: 'operators revoke-key',
})
