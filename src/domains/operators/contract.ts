import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: keys' } as const

const Role = Enum(['operator', 'observer'], {
  description: 'operator: everything. observer: the GETs of /operator, without secrets, message texts and documents',
})

export const createOperatorKey = contract({
  ...operator,
  id: 'createOperatorKey',
  makes: 'operator',
  proof: true,
  client: 'operatorKeys.create',
  method: 'POST',
  url: '/operator/keys',
  summary: 'Create an operator key; only this response shows it',
  description: 'A key with the role observer may only read, and sees secrets and personal data masked.',
  ownAnswer: true,
  body: Type.Object({ label: FreeText(100), role: Type.Optional({ ...Role, default: 'operator' as const }) }),
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
  client: 'operatorKeys.list',
  method: 'GET',
  url: '/operator/keys',
  summary: 'List the operator keys that are not revoked',
  description: 'The reply shows the label, role and last four characters of each key, never the key itself.',
  status: 200,
  reply: Ok({
    keys: Type.Array(
      Named(
        'OperatorKey',
        Type.Object({
          uuid: Id('KEY'),
          label: Type.String(),
          role: Role,
          last_four: Type.String(),
          created_at: Time,
          current: Type.Boolean({ description: 'True for the key of this request' }),
        }),
      ),
    ),
  }),
  errors: {},
  cli: 'operators keys',
})

export const revokeOperatorKey = contract({
  ...operator,
  id: 'revokeOperatorKey',
  client: 'operatorKeys.revoke',
  method: 'DELETE',
  url: '/operator/keys/:key_uuid',
  summary: 'Revoke another operator key; every process refuses it within a second',
  description: 'Revocation is permanent. At least one key with the role operator always remains.',
  params: Type.Object({ key_uuid: Id('KEY') }),
  status: 200,
  reply: Success,
  errors: {
    notFound: 'No such operator key',
    conflict:
      'The key is the one used for this request (key_in_use), or the last one with the role operator (last_operator_key)',
  },
  cli: 'operators revoke-key',
})
