import { Type } from 'typebox'
import { type Capability, capabilities } from '../../../platform/http/capability.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Decimal, Enum, FreeText, Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { accountParams, closed, operator, unknownAccount } from '../account-schemas.ts'

const limits = (absent: string) => ({
  scopes: Type.Optional(
    Type.Array(Enum<Capability[]>([...capabilities]), {
      minItems: 1,
      maxItems: capabilities.length,
      description: `Rights of the key: each endpoint names the scope that it needs (x-needs). ${absent.replace('%', 'all')}`,
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
  spend_per_day: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$',
      description: `USD that the key may spend in a day (UTC) on messages, calls and numbers; then 402 key_spend_limit. Its calls end. ${absent.replace('%', 'no limit')}`,
      examples: ['25.00'],
    }),
  ),
})

const keyLimits = limits('Absent: %')
const keyRequest = (absent: string) => Type.Object({ label: FreeText(100), ...limits(absent) })
const NewKey = Named(
  'NewApiKey',
  Ok({
    uuid: Id('KEY'),
    label: Type.String(),
    key: Type.String({ examples: ['UAK…'] }),
    ...keyLimits,
  }),
)
const Key = {
  uuid: Id('KEY'),
  label: Type.String(),
  last_four: Type.String(),
  ...keyLimits,
  spent_today: Type.Optional({
    ...Decimal,
    description:
      'USD that a key with spend_per_day, and the keys made with it, have paid today (UTC) or that is held for them',
  }),
  created_at: Time,
  created_by: Type.Optional(
    Type.Object(
      { user_uuid: Id('USR'), name: Type.String() },
      { description: 'The member who made the key in the console, or the key that made it; absent: none did' },
    ),
  ),
  last_used_at: Type.Optional(Time),
}
const tooManyKeys =
  'The account has 100 keys that are not revoked, or has made 1,000 within 24 hours, or the key is the tenth with spend_per_day made one with the other (too_many_keys)'

export const createKey = contract({
  ...operator,
  id: 'createKey',
  makes: 'api-key',
  proof: true,
  client: 'keys.create',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/keys',
  summary: 'Create an API key; only this response shows it',
  description:
    'The server stores only a digest of the key, so store the response safely. An account may have 100 keys.',
  ownAnswer: true,
  params: accountParams,
  body: keyRequest('Default: %'),
  status: 201,
  reply: NewKey,
  errors: { notFound: unknownAccount, forbidden: tooManyKeys, conflict: closed },
  cli: 'keys create',
})

export const listKeys = contract({
  ...operator,
  id: 'listKeys',
  client: 'keys.list',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/keys',
  summary: 'API keys of an account that are not revoked',
  description: 'The reply shows the label, scopes and last four characters of each key, never the key itself.',
  params: accountParams,
  status: 200,
  reply: Named('ApiKey', Ok({ keys: Type.Array(Type.Object(Key)) })),
  errors: { notFound: unknownAccount },
  cli: 'keys list',
})

export const revokeKey = contract({
  ...operator,
  id: 'revokeKey',
  client: 'keys.revoke',
  method: 'DELETE',
  url: '/operator/accounts/:account_uuid/keys/:key_uuid',
  summary: 'Revoke an API key; every process refuses it within a second',
  description: 'Revocation is permanent. Create the replacement key first to change keys without interruption.',
  params: Type.Object({ account_uuid: Id('ACC'), key_uuid: Id('KEY') }),
  status: 200,
  reply: Success,
  errors: { notFound: 'No such key of this account' },
  cli: 'keys revoke',
})

const ownKeys = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Account' } as const

export const listOwnKeys = contract({
  ...ownKeys,
  id: 'listOwnKeys',
  csv: 'keys',
  client: 'keys.list',
  method: 'GET',
  url: '/open/keys',
  summary: 'API keys of the account that are not revoked',
  description:
    'The reply marks the key of this request with current. ' +
    'It shows the last four characters of each key, never the key itself.',
  status: 200,
  reply: Ok({
    keys: Type.Array(
      Named(
        'OwnApiKey',
        Type.Object({ ...Key, current: Type.Boolean({ description: 'True for the key of this request' }) }),
      ),
    ),
  }),
  errors: {},
})

export const createOwnKey = contract({
  ...ownKeys,
  id: 'createOwnKey',
  makes: 'api-key',
  proof: true,
  client: 'keys.create',
  audited: true,
  method: 'POST',
  url: '/open/keys',
  summary: 'Create an API key with at most the permissions of the request’s key; only this response shows it',
  description:
    'The new key cannot exceed the scopes, addresses, expiry or daily spending of the key of this request, which counts what it ' +
    'spends. ' +
    'An account may have 100 keys.',
  ownAnswer: true,
  body: keyRequest('Default: the value of the request’s key'),
  status: 201,
  reply: NewKey,
  codes: { forbidden: ['exceeds_own_key'] },
  errors: {
    forbidden: `The account is blocked, the key lacks the scope develop (scope_missing), or the new key would exceed it (exceeds_own_key). ${tooManyKeys}`,
  },
})

export const revokeOwnKey = contract({
  ...ownKeys,
  id: 'revokeOwnKey',
  client: 'keys.revoke',
  audited: true,
  method: 'DELETE',
  url: '/open/keys/:key_uuid',
  summary: 'Revoke another API key of the account; every process refuses it within a second',
  description: 'Revocation is permanent. The key of this request cannot revoke itself.',
  params: Type.Object({ key_uuid: Id('KEY') }),
  status: 200,
  reply: Success,
  codes: { forbidden: ['exceeds_own_key'] },
  errors: { notFound: 'No such key of the account', conflict: 'The key is the one used for this request (key_in_use)' },
})
