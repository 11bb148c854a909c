import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, pageFields, pagingQuery, Time } from '../../platform/http/schema.ts'

export const listActiveUsers = contract({
  id: 'listActiveUsers',
  csv: 'data.users',
  client: 'users.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/users',
  tag: 'Users',
  summary: 'List the active users of the account',
  description: 'Use the uuid of a user to mint a voice token or to direct the calls of a number.',
  auth: 'account',
  shape: 'full',
  status: 200,
  reply: Ok({
    data: Type.Object({
      users: Type.Array(
        Named(
          'ActiveUser',
          Type.Object({ uuid: Id('USR'), first_name: Type.String(), last_name: Type.String(), email: Type.String() }),
        ),
      ),
    }),
  }),
  errors: {},
})

const Status = Enum(['ACTIVE', 'PENDING_INVITE', 'SUSPENDED', 'DELETED'])
const Name = FreeText(100)
const Email = Type.String({ format: 'email', maxLength: 254, examples: ['ada@example.com'] })

const User = Named(
  'User',
  Type.Object({
    uuid: Id('USR'),
    account_uuid: Id('ACC'),
    first_name: Type.String({ examples: ['Ada'] }),
    last_name: Type.String({ examples: ['Lovelace'] }),
    email: Type.String(),
    status: Status,
    created_at: Time,
    updated_at: Time,
  }),
)

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: users' } as const
const accountParams = Type.Object({ account_uuid: Id('ACC') })

export const createUser = contract({
  ...operator,
  id: 'createUser',
  makes: 'person',
  proof: true,
  client: 'users.create',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/users',
  summary: 'Create a user of an account',
  description:
    'A user belongs to one account and can sign in to the voice client with a token. ' +
    'An e-mail address is unique within the account.',
  params: accountParams,
  body: Type.Object({ first_name: Name, last_name: Name, email: Email, status: Type.Optional(Status) }),
  status: 201,
  reply: Ok({ user: User }),
  errors: {
    notFound: 'No such account',
    conflict:
      'Another user of the account has this e-mail address (email_exists), or the account is closed (account_closed)',
  },
  cli: 'users create',
})

export const listUsers = contract({
  ...operator,
  id: 'listUsers',
  client: 'users.list',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/users',
  summary: 'List the users of an account, of every status',
  description: 'The list includes users who are not active.',
  params: accountParams,
  query: Type.Object({ status: Type.Optional(Status), ...pagingQuery }),
  status: 200,
  reply: Ok({ ...pageFields, users: Type.Array(User) }),
  errors: { notFound: 'No such account' },
  cli: 'users list',
})

export const changeUser = contract({
  ...operator,
  id: 'changeUser',
  makes: 'person',
  proof: true,
  client: 'users.update',
  method: 'PATCH',
  url: '/operator/users/:user_uuid',
  summary: 'Change a user: names, e-mail address, status',
  description: 'Absent fields stay unchanged. A user who is not active gets no voice tokens.',
  params: Type.Object({ user_uuid: Id('USR') }),
  body: Type.Object(
    {
      first_name: Type.Optional(Name),
      last_name: Type.Optional(Name),
      email: Type.Optional(Email),
      status: Type.Optional(Status),
    },
    { examples: [{ first_name: 'Ada' }] },
  ),
  status: 200,
  reply: Ok({ user: User }),
  errors: { notFound: 'No such user', conflict: 'Another user of the account has this e-mail address (email_exists)' },
  cli: 'users change',
})
