import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../platform/http/schema.ts'
import { parse } from '../../platform/lib/id.ts'

export const mintToken = contract({
  id: 'mintToken',
  makes: 'voice-token',
  ownAnswer: true,
  client: 'voice.createToken',
  // The telephone of the console fetches one at each page. A longer life is a person's choice.
  unrecorded: ({ user_uuid, ttl = 3600 }, user) => parse('USR', String(user_uuid)) === user && Number(ttl) <= 3600,
  needs: 'inbox',
  method: 'POST',
  url: '/open/sdk/access-token',
  tag: 'Voice',
  summary: 'Mint a short-lived token for the voice client of one user',
  description:
    'Call this from your server and pass the token to the browser. The token expires after ttl seconds, and at the latest with the key that mints it. It is not bound to the addresses of the key.',
  auth: 'account',
  shape: 'full',
  secure: true,
  body: Type.Object({
    user_uuid: Id('USR'),
    label: Type.Optional(
      Type.Union([Type.String({ maxLength: 500 }), Type.Null()], {
        description: 'Echoed in the response and in the claims',
      }),
    ),
    ttl: Type.Optional(
      Type.Integer({
        description: 'Seconds, clamped to 60 … 86400, and to the end of the key. Default: 3600',
        examples: [3600],
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    token: Type.String({ description: 'Signed JWT (EdDSA)' }),
    user_uuid: Id('USR'),
    label: Type.Union([Type.String(), Type.Null()]),
    expires_at: Time,
  }),
  codes: { forbidden: ['https_required'] },
  errors: {
    notFound: 'No such user of the account, or the user is not active',
    forbidden:
      'The account is blocked, the request did not come over HTTPS (https_required), the key has a daily spend limit (key_limited), or the user is another one than the person of the session, who lacks team_settings (role)',
  },
})

export const revokeTokens = contract({
  id: 'revokeTokens',
  client: 'voice.revokeTokens',
  audited: true,
  needs: 'inbox',
  method: 'POST',
  url: '/open/sdk/revocations',
  tag: 'Voice',
  summary: 'Revoke one voice token, or all tokens minted so far for a user, with their SIP credentials',
  description:
    'Give either a token or a user. Revoked tokens and the SIP credentials made from them stop working. A member without team_settings revokes only the own tokens.',
  auth: 'account',
  shape: 'full',
  body: Type.Object(
    {
      token: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4000,
          description:
            'The token to revoke. Tokens of the same user that expire in the same second are revoked with it',
        }),
      ),
      user_uuid: Type.Optional(Id('USR', 'Instead of token: all tokens of this user')),
    },
    { description: 'Either token or user_uuid', examples: [{ user_uuid: 'USR01a1fcca-93ab-7cbc-9f10-be702f775479' }] },
  ),
  status: 200,
  reply: Ok({
    user_uuid: Id('USR'),
    revoked: Enum(['token', 'user'], { description: 'user: every token minted for the user so far' }),
  }),
  errors: {
    notFound: 'The account has no such user or issued no such token, or the token has expired',
    forbidden:
      'The account is blocked, the key lacks the scope inbox (scope_missing), the user is another one than the person of the session, who lacks team_settings (role), or the account has revoked 10,000 tokens that have not expired (too_many_revocations)',
  },
})

const SigningKey = Named(
  'SigningKey',
  Type.Object({ kid: Type.String(), created_at: Time, retired_at: Type.Optional(Time) }),
)
const operator = { auth: 'operator', shape: 'full', tag: 'Operator: signing keys' } as const

export const listSigningKeys = contract({
  ...operator,
  id: 'listSigningKeys',
  client: 'signingKeys.list',
  method: 'GET',
  url: '/operator/signing-keys',
  summary: 'List the keys that sign voice tokens, newest first',
  description: 'The reply shows the id of each key and when it was created and retired, never the key itself.',
  status: 200,
  reply: Ok({ signing_keys: Type.Array(SigningKey) }),
  errors: {},
  cli: 'signing-keys list',
})

export const rotateSigningKey = contract({
  ...operator,
  id: 'rotateSigningKey',
  client: 'signingKeys.rotate',
  method: 'POST',
  url: '/operator/signing-keys',
  summary: 'Rotate the signing key; tokens of older keys remain valid until they expire',
  description: 'New tokens are signed by the new key at once. The previous key only verifies tokens that it signed.',
  status: 201,
  reply: Ok({ signing_key: SigningKey }),
  errors: {},
  cli: 'signing-keys rotate',
})
