import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../platform/http/schema.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

const filters = {
  action: Type.Optional(
    Type.String({ maxLength: 100, description: 'Name of the operation, as in OpenAPI', examples: ['changeAccount'] }),
  ),
  target: Type.Optional(
    Type.String({ maxLength: 200, description: 'Id of a target of the act, such as ACC…, KEY… or TRF…' }),
  ),
  since: Type.Optional(Moment('Only acts from this time on')),
  until: Type.Optional(Moment('Only acts before this time')),
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
}

const Kind = Enum(['operator', 'api_key', 'person', 'visitor', 'system'], {
  description:
    'operator and api_key: a key. person: a signed-in person. visitor: a refused sign-in. system: the program itself',
})

const act = {
  uuid: Id('AUD'),
  at: Type.Unsafe<string>({
    ...Time,
    description: 'By the clock of the machine; the sandbox’s clock does not move it',
  }),
  actor: Named(
    'AuditActor',
    Type.Object({
      kind: Kind,
      uuid: Type.Optional(Type.String({ description: 'KEY… or PRS…' })),
      label: Type.Optional(Type.String({ description: 'Label of the key, or name of the person, at that time' })),
      name: Type.Optional(Type.String({ description: 'Name of the member now, where it differs' })),
      last_four: Type.Optional(Type.String({ description: 'Last four characters of the key' })),
    }),
  ),
  action: Type.String({ description: 'Name of the operation', examples: ['changeAccount'] }),
  targets: Type.Array(Type.String(), { description: 'Ids of the targets of the act' }),
  changes: Type.Array(
    Named(
      'AuditChange',
      Type.Object({
        field: Type.String({ examples: ['blocked'] }),
        before: Type.Optional(Type.Unknown()),
        after: Type.Optional(Type.Unknown()),
      }),
    ),
    {
      description:
        'Fields that differ; secrets read •••, and so do contents for readers who may not see all conversations. Nothing before: created. Nothing after: deleted',
    },
  ),
  address: Type.Optional(Type.String({ description: 'Source address of the request' })),
  user_agent: Type.Optional(Type.String()),
  request_id: Type.Optional(Type.String()),
  session_uuid: Type.Optional(Id('SES')),
}

/** Columns of the command line. */
const columns = { 'x-columns': ['at', 'actor.label', 'action', 'changes.field', 'targets'] }

const pageReply = { count: Type.Integer(), next_cursor: Type.Optional(Type.String()) }

export const listAudit = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: audit',
  id: 'listAudit',
  client: 'audit.list',
  method: 'GET',
  url: '/operator/audit',
  summary: 'List all acts of operators, changing acts of accounts, and sign-ins, newest first',
  description:
    'Each entry shows the actor, the target and the changed fields; secrets are masked. ' +
    'Follow next_cursor for older entries.',
  query: Type.Object({
    actor: Type.Optional(
      Type.String({ maxLength: 100, description: 'A key or person: the id (KEY…, PRS…), label or name' }),
    ),
    account_uuid: Type.Optional(Id('ACC', 'Only acts that concern this account')),
    ...filters,
  }),
  status: 200,
  reply: Ok({
    count: pageReply.count,
    acts: Type.Array(Named('AuditEntry', Type.Object({ ...act, account_uuid: Type.Optional(Id('ACC')) }, columns))),
    next_cursor: pageReply.next_cursor,
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
  csv: 'acts',
  client: 'audit.list',
  method: 'GET',
  url: '/open/audit',
  summary: 'List acts on the account by its keys, its members and operators (without their keys), newest first',
  description:
    'Each entry shows the actor, the target and the changed fields; secrets are masked. ' +
    'Follow next_cursor for older entries.',
  query: Type.Object({
    actor: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'A key or member of the account: the id (KEY…, PRS…, USR…), label or name. Or: operator',
      }),
    ),
    ...filters,
  }),
  status: 200,
  reply: Ok({
    count: pageReply.count,
    acts: Type.Array(Named('OwnAuditEntry', Type.Object(act))),
    next_cursor: pageReply.next_cursor,
  }),
  errors: {},
})
