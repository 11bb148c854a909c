import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Decimal, Id, Ok, Time, Words } from '../http/schema.ts'

export const getInfo = contract({
  id: 'getInfo',
  method: 'GET',
  url: '/open/info',
  tag: 'Account',
  summary: 'The account behind the key: its limits, usage and balance',
  auth: 'account',
  shape: 'full',
  status: 200,
  reply: Ok({
    account: Type.Object({
      name: Type.String(),
      uuid: Id('ACC'),
      on_trial: Type.Boolean(),
      blocked: Type.Boolean(),
      block_reason: Type.Optional(Type.String()),
      created_at: Time,
      expires_at: Type.Optional(Time),
    }),
    limits: Type.Object({ requests_per_minute: Type.Integer() }),
    usage: Type.Object({
      api_request_count: Type.Integer(),
      max_api_request_count: Type.Optional(Type.Integer({ description: 'Absent when there is no quota' })),
      number_check_count: Type.Integer(),
      max_number_check_count: Type.Optional(Type.Integer({ description: 'Absent when there is no quota' })),
    }),
    balance: Type.Object({ amount: Decimal, currency: Type.Literal('USD') }),
  }),
  errors: {},
})

const Account = Type.Object({
  uuid: Id('ACC'),
  name: Type.String({ examples: ['Example Ltd'] }),
  on_trial: Type.Boolean(),
  blocked: Type.Boolean(),
  block_reason: Type.Optional(Type.String()),
  requests_per_minute: Type.Integer(),
  max_api_request_count: Type.Optional(Type.Integer()),
  max_number_check_count: Type.Optional(Type.Integer()),
  a2p_us: Type.Boolean({ description: 'May send SMS to US numbers' }),
  sandbox: Type.Boolean({
    description: 'A sandbox account: /sandbox and its effects are for it, while the sandbox is on',
  }),
  balance: Decimal,
  low_balance: Type.Optional(
    Type.String({ description: 'balance.low is recorded when the balance falls below', examples: ['5.00'] }),
  ),
  created_at: Time,
  updated_at: Time,
  expires_at: Type.Optional(Time),
})

const pace = Type.Integer({ minimum: 1, maximum: 100_000_000, description: 'Requests a minute' })
const count = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000 })
const accountParams = Type.Object({ account_uuid: Id('ACC') })
const unknownAccount = 'No such account'
const operator = { auth: 'operator', shape: 'full', tag: 'Operator: accounts' } as const

export const createAccount = contract({
  ...operator,
  id: 'createAccount',
  method: 'POST',
  url: '/operator/accounts',
  summary: 'Create an account',
  body: Type.Object({
    name: Words(200),
    on_trial: Type.Optional(
      Type.Boolean({ description: 'A trial account: 30 requests a minute and 1,000 calls unless said otherwise' }),
    ),
    requests_per_minute: Type.Optional(pace),
    sandbox: Type.Optional(
      Type.Boolean({ description: 'A sandbox account. Default: true while the sandbox is on, else false' }),
    ),
  }),
  status: 201,
  reply: Ok({ account: Account }),
  errors: {},
  cli: 'accounts create',
})

export const listAccounts = contract({
  ...operator,
  id: 'listAccounts',
  method: 'GET',
  url: '/operator/accounts',
  summary: 'All accounts',
  status: 200,
  reply: Ok({ accounts: Type.Array(Account) }),
  errors: {},
  cli: 'accounts list',
})

export const getAccount = contract({
  ...operator,
  id: 'getAccount',
  method: 'GET',
  url: '/operator/accounts/:account_uuid',
  summary: 'One account',
  params: accountParams,
  status: 200,
  reply: Ok({ account: Account }),
  errors: { notFound: unknownAccount },
  cli: 'accounts show',
})

export const changeAccount = contract({
  ...operator,
  id: 'changeAccount',
  method: 'PATCH',
  url: '/operator/accounts/:account_uuid',
  summary: 'Change an account: its name, limits, whether it is blocked, whether it may send to the US',
  params: accountParams,
  body: Type.Object({
    name: Type.Optional(Words(200)),
    on_trial: Type.Optional(Type.Boolean()),
    blocked: Type.Optional(Type.Boolean()),
    block_reason: Type.Optional(Type.String({ maxLength: 500 })),
    requests_per_minute: Type.Optional(pace),
    max_api_request_count: Type.Optional(
      Type.Union([count, Type.Null()], { description: 'null takes the quota away' }),
    ),
    max_number_check_count: Type.Optional(
      Type.Union([count, Type.Null()], { description: 'null takes the quota away' }),
    ),
    a2p_us: Type.Optional(Type.Boolean()),
    sandbox: Type.Optional(Type.Boolean({ description: 'false: /sandbox and its effects are not for this account' })),
    low_balance: Type.Optional(
      Type.Union([Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$', examples: ['5.00'] }), Type.Null()], {
        description: 'USD, above 0: the event balance.low comes when the balance falls below; null: never',
      }),
    ),
  }),
  status: 200,
  reply: Ok({ account: Account }),
  errors: { notFound: unknownAccount },
  cli: 'accounts change',
})

export const createKey = contract({
  ...operator,
  id: 'createKey',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/keys',
  summary: 'Create an API key; the answer shows it this once',
  params: accountParams,
  body: Type.Object({ label: Words(100) }),
  status: 201,
  reply: Ok({ uuid: Id('KEY'), label: Type.String(), key: Type.String({ examples: ['UAK…'] }) }),
  errors: { notFound: unknownAccount },
  cli: 'keys create',
})

export const listKeys = contract({
  ...operator,
  id: 'listKeys',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/keys',
  summary: 'API keys of an account that are not revoked',
  params: accountParams,
  status: 200,
  reply: Ok({
    keys: Type.Array(
      Type.Object({
        uuid: Id('KEY'),
        label: Type.String(),
        last_four: Type.String(),
        created_at: Time,
        last_used_at: Type.Optional(Time),
      }),
    ),
  }),
  errors: { notFound: unknownAccount },
  cli: 'keys list',
})

export const revokeKey = contract({
  ...operator,
  id: 'revokeKey',
  method: 'DELETE',
  url: '/operator/accounts/:account_uuid/keys/:key_uuid',
  summary: 'Revoke an API key: refused everywhere within a second',
  params: Type.Object({ account_uuid: Id('ACC'), key_uuid: Id('KEY') }),
  status: 200,
  reply: Ok({}),
  errors: { notFound: 'No such key of this account' },
  cli: 'keys revoke',
})
