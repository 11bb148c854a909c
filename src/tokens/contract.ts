import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Id, Ok, Time } from '../http/schema.ts'

export const mintToken = contract({
  id: 'mintToken',
  method: 'POST',
  url: '/open/sdk/access-token',
  tag: 'Voice',
  summary: 'Mint a short-lived token for the voice client of one user',
  auth: 'account',
  shape: 'full',
  secure: true,
  body: Type.Object({
    user_uuid: Id('USR'),
    label: Type.Optional(
      Type.Union([Type.String({ maxLength: 500 }), Type.Null()], {
        description: 'Echoed in the answer and in the claims',
      }),
    ),
    ttl: Type.Optional(
      Type.Integer({ description: 'Seconds; clamped to 60 to 86400; default 3600', examples: [3600] }),
    ),
  }),
  status: 200,
  reply: Ok({
    token: Type.String({ description: 'Signed JWT (EdDSA)' }),
    user_uuid: Id('USR'),
    label: Type.Union([Type.String(), Type.Null()]),
    expires_at: Time,
  }),
  errors: {
    notFound: 'No such user of the account, or the user is not active',
    forbidden: 'The account is blocked, or the request did not come over HTTPS (https_required)',
  },
})

const SigningKey = Type.Object({ kid: Type.String(), created_at: Time, retired_at: Type.Optional(Time) })
const operator = { auth: 'operator', shape: 'full', tag: 'Operator: signing keys' } as const

export const listSigningKeys = contract({
  ...operator,
  id: 'listSigningKeys',
  method: 'GET',
  url: '/operator/signing-keys',
  summary: 'The keys that sign voice tokens, newest first',
  status: 200,
  reply: Ok({ signing_keys: Type.Array(SigningKey) }),
  errors: {},
  cli: 'signing-keys list',
})

export const rotateSigningKey = contract({
  ...operator,
  id: 'rotateSigningKey',
  method: 'POST',
  url: '/operator/signing-keys',
  summary: 'Sign with a new key from now on; tokens of the older ones stay valid until they expire',
  status: 201,
  reply: Ok({ signing_key: SigningKey }),
  errors: {},
  cli: 'signing-keys rotate',
})
