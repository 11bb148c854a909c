import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Time } from '../http/schema.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

const filters = {
  action: Type.Optional(
    Type.String({ maxLength: 100, description: 'Name of the operation, as in OpenAPI', examples: ['changeAccount'] }),
  ),
  target: Type.Optional(
    Type.String({ maxLength: 200, description: 'Id of what the act concerned, such as ACC…, KEY… or TRF…' }),
  ),
  since: Type.Optional(Moment('Only acts of this time or later')),
  until: Type.Optional(Moment('Only acts before this time')),
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the page before' })),
}

const Kind = Enum(['operator', 'api_key', 'system'], { description: 'system: the program itself, at its start' })

const act = {
  uuid: Id('AUD'),
  at: Type.Unsafe<string>({
    ...Time,
    description: 'By the clock of the machine; the sandbox’s clock does not move it',
  }),
  actor: Type.Object({
    kind: Kind,
    uuid: Type.Optional(Id('KEY')),
    label: Type.Optional(Type.String({ description: 'Of the key, at the time of the act' })),
    last_four: Type.Optional(Type.String({ description: 'Of the key' })),
  }),
  action: Type.String({ description: 'Name of the operation', examples: ['changeAccount'] }),
  targets: Type.Array(Type.String(), { description: 'Ids of what the act concerned' }),
  changes: Type.Array(
    Type.Object({
      field: Type.String({ examples: ['blocked'] }),
      before: Type.Optional(Type.Unknown()),
      after: Type.Optional(Type.Unknown()),
    }),
    { description: 'Fields that differ; secrets read •••. Nothing before: created. Nothing after: deleted' },
  ),
  address: Type.Optional(Type.String({ description: 'Where the request came from' })),
  user_agent: Type.Optional(Type.String()),
  request_id: Type.Optional(Type.String()),
}

/** Columns of the command line. */
const columns = { 'x-columns': ['at', 'actor.label', 'action', 'changes.field', 'targets'] }

const answered = { count: Type.Integer(), next_cursor: Type.Optional(Type.String()) }

export const listAudit = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: audit',
  id: 'listAudit',
  method: 'GET',
  url: '/operator/audit',
  summary: 'Every act of operators, and acts of accounts that change what they have; newest first',
  query: Type.Object({
    actor: Type.Optional(Type.String({ maxLength: 100, description: 'A key: its id (KEY…) or its label' })),
    account_uuid: Type.Optional(Id('ACC', 'Only acts that concern this account')),
    ...filters,
  }),
  status: 200,
  reply: Ok({
    count: answered.count,
    acts: Type.Array(Type.Object({ ...act, account_uuid: Type.Optional(Id('ACC')) }, columns)),
    next_cursor: answered.next_cursor,
  }),
  errors: { notFound: 'No such account' },
  cli: 'audit list',
})

export const listOwnAudit = contract({
  auth: 'account',
  needs: 'people',
  shape: 'full',
  tag: 'Audit',
  id: 'listOwnAudit',
  method: 'GET',
  url: '/open/audit',
  summary: 'Acts on the account: by its own keys, and by operators, whose keys are not named; newest first',
  query: Type.Object({
    actor: Type.Optional(
      Type.String({ maxLength: 100, description: 'A key of the account: its id (KEY…) or its label. Or: operator' }),
    ),
    ...filters,
  }),
  status: 200,
  reply: Ok({ count: answered.count, acts: Type.Array(Type.Object(act)), next_cursor: answered.next_cursor }),
  errors: {},
})
