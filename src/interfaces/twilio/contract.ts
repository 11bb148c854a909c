import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'

// Credentials for the interface in the shape of Twilio: endpoints of the native interface.

const own = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Account' } as const

const AccountSid = Type.String({
  description: 'User name of the libraries: AC and the digits of the account’s uuid',
  examples: ['AC01a1fcca93ab7cbc9f10be702f775479'],
})

export const createCompatCredentials = contract({
  ...own,
  id: 'createCompatCredentials',
  makes: 'api-key',
  proof: true,
  client: 'compat.createCredentials',
  audited: true,
  method: 'POST',
  url: '/open/compat/credentials',
  summary: 'Make an account SID and a token for Twilio’s libraries; only this response shows the token',
  description:
    'The interface is off for an account until it makes the first token. The token is an API key with the permissions of the ' +
    'request’s key, and signs callbacks. Two tokens can be valid at once, for a rotation: callbacks are signed by the older one.',
  ownAnswer: true,
  status: 201,
  reply: Named(
    'NewCompatCredentials',
    Ok({
      account_sid: AccountSid,
      auth_token: Type.String({ examples: ['5c1f…'], description: '32 hexadecimal digits' }),
      key_uuid: Id('KEY', 'The API key that the token is'),
      scopes: Type.Optional(Type.Array(Type.String(), { description: 'Absent: all' })),
      expires_at: Type.Optional({ ...Time, description: 'Absent: never' }),
      allowed_addresses: Type.Optional(Type.Array(Type.String(), { description: 'Absent: any' })),
      spend_per_day: Type.Optional(
        Type.String({ description: 'USD a day (UTC). Absent: no limit', examples: ['25.00'] }),
      ),
    }),
  ),
  codes: { conflict: ['compat_off', 'too_many_tokens'], forbidden: ['exceeds_own_key', 'too_many_keys'] },
  errors: {
    conflict: 'The account has two tokens: revoke one of them first. Or the operator turned the interface off',
  },
})

export const listCompatCredentials = contract({
  ...own,
  id: 'listCompatCredentials',
  client: 'compat.credentials',
  method: 'GET',
  url: '/open/compat/credentials',
  summary: 'The account SID and the valid tokens for Twilio’s libraries',
  description: 'The reply shows the last four characters of each token, never the token itself.',
  status: 200,
  reply: Named(
    'CompatCredentialsList',
    Ok({
      account_sid: AccountSid,
      credentials: Type.Array(
        Named(
          'CompatCredentials',
          Type.Object({
            key_uuid: Id('KEY'),
            last_four: Type.String(),
            signs: Type.Boolean({ description: 'True for the token that signs callbacks' }),
            created_at: Time,
          }),
        ),
      ),
    }),
  ),
  errors: {},
})

export const revokeCompatCredentials = contract({
  ...own,
  id: 'revokeCompatCredentials',
  client: 'compat.revokeCredentials',
  audited: true,
  method: 'DELETE',
  url: '/open/compat/credentials/:key_uuid',
  summary: 'Revoke a token; every process refuses it within a second',
  description: 'The interface is off again once the account has no token. Revocation is permanent.',
  params: Type.Object({ key_uuid: Id('KEY') }),
  status: 200,
  reply: Success,
  codes: { forbidden: ['exceeds_own_key'] },
  errors: { notFound: 'No such token of the account', conflict: 'The token is the key of this request (key_in_use)' },
})
