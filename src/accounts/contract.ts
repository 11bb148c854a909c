import { type TSchema, Type } from 'typebox'
import { type Capability, capabilities } from '../http/capability.ts'
import { contract } from '../http/endpoint.ts'
import { Decimal, Enum, Id, Ok, Time, Words } from '../http/schema.ts'
import { mostQuota, type QuotaName, quotaNames, quotas } from '../lib/quotas.ts'
import { unlimited } from './unlimited.ts'

/** A field for each quota. */
const forEach = <T extends TSchema>(schema: (name: QuotaName) => T): Record<QuotaName, T> =>
  // A value for each name.
  Object.fromEntries(quotaNames.map((name) => [name, schema(name)])) as Record<QuotaName, T>

const Limit = (name: QuotaName) =>
  Type.Integer({ minimum: 0, maximum: mostQuota, description: quotas[name].description, examples: [quotas[name].paid] })

const Quota = Type.Integer({ description: `${unlimited} where there is no quota`, examples: [unlimited] })

export const getInfo = contract({
  id: 'getInfo',
  needs: 'read_only',
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
    limits: Type.Object({ requests_per_minute: Type.Integer(), ...forEach(Limit) }),
    usage: Type.Object({
      webhooks: Type.Integer({ description: 'Enabled, and a tenth of the disabled' }),
      channels: Type.Integer(),
      contacts: Type.Integer(),
      reservations: Type.Integer(),
      stored_bytes: Type.Integer(),
      api_request_count: Type.Integer(),
      max_api_request_count: Quota,
      number_check_count: Type.Integer(),
      max_number_check_count: Quota,
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
  quotas: Type.Object(forEach(Limit), { description: 'What the account may create and keep' }),
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
const QuotaChanges = Type.Object(
  forEach((name) =>
    Type.Optional(
      Type.Union([Limit(name), Type.Null()], { description: `${quotas[name].description} null: the default` }),
    ),
  ),
  { description: 'Quotas to change; the others stay as they are', additionalProperties: false },
)
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
    quotas: Type.Optional(QuotaChanges),
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
    quotas: Type.Optional(QuotaChanges),
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

const limits = (absent: string) => ({
  scopes: Type.Optional(
    Type.Array(Enum<Capability[]>([...capabilities]), {
      minItems: 1,
      maxItems: capabilities.length,
      description: `What the key may do: each endpoint names the scope that it needs (x-needs). ${absent.replace('%', 'all')}`,
      examples: [['inbox', 'read_only']],
    }),
  ),
  expires_at: Type.Optional({
    ...Time,
    description: `The key is refused from then on (401 key_expired), by the real clock. ${absent.replace('%', 'never')}`,
  }),
  allowed_addresses: Type.Optional(
    Type.Array(Type.String({ minLength: 2, maxLength: 50, examples: ['192.0.2.0/24'] }), {
      minItems: 1,
      maxItems: 50,
      description: `Addresses and networks (CIDR, IPv4 or IPv6) from which alone the key may be used. ${absent.replace('%', 'any')}`,
      examples: [['192.0.2.0/24', '2001:db8::/32']],
    }),
  ),
})

const keyLimits = limits('Absent: %')
const wish = (absent: string) => Type.Object({ label: Words(100), ...limits(absent) })
const NewKey = Ok({
  uuid: Id('KEY'),
  label: Type.String(),
  key: Type.String({ examples: ['UAK…'] }),
  ...keyLimits,
})
const Key = {
  uuid: Id('KEY'),
  label: Type.String(),
  last_four: Type.String(),
  ...keyLimits,
  created_at: Time,
  last_used_at: Type.Optional(Time),
}
const tooManyKeys = 'The account has 100 keys that are not revoked, or has made 1,000 within 24 hours (too_many_keys)'

export const createKey = contract({
  ...operator,
  id: 'createKey',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/keys',
  summary: 'Create an API key; the answer shows it this once',
  ownAnswer: true,
  params: accountParams,
  body: wish('Default: %'),
  status: 201,
  reply: NewKey,
  errors: { notFound: unknownAccount, forbidden: tooManyKeys },
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
  reply: Ok({ keys: Type.Array(Type.Object(Key)) }),
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

const own = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Account' } as const

export const listOwnKeys = contract({
  ...own,
  id: 'listOwnKeys',
  method: 'GET',
  url: '/open/keys',
  summary: 'API keys of the account that are not revoked',
  status: 200,
  reply: Ok({
    keys: Type.Array(Type.Object({ ...Key, current: Type.Boolean({ description: 'The key of this very request' }) })),
  }),
  errors: {},
})

export const createOwnKey = contract({
  ...own,
  id: 'createOwnKey',
  audited: true,
  method: 'POST',
  url: '/open/keys',
  summary: 'Create an API key that can do no more than the key of this request; the answer shows it this once',
  ownAnswer: true,
  body: wish('Default: that of the key of this request'),
  status: 201,
  reply: NewKey,
  errors: {
    forbidden: `The account is blocked, the key lacks the scope develop (scope_missing), or the new key would exceed it (exceeds_own_key). ${tooManyKeys}`,
  },
})

export const revokeOwnKey = contract({
  ...own,
  id: 'revokeOwnKey',
  audited: true,
  method: 'DELETE',
  url: '/open/keys/:key_uuid',
  summary: 'Revoke another API key of the account: refused everywhere within a second',
  params: Type.Object({ key_uuid: Id('KEY') }),
  status: 200,
  reply: Ok({}),
  errors: { notFound: 'No such key of the account', conflict: 'It is the key of this very request (key_in_use)' },
})
