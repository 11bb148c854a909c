import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { Options, Registration } from './passkey-credentials.ts'

const console = { shape: 'full', tag: 'Console' } as const

const noPerson = 'The session was opened with a key, and has no person (no_person)'

const Passkey = Named(
  'Passkey',
  Type.Object({
    uuid: Id('PKY'),
    name: Type.String({ examples: ['Chrome on Linux'] }),
    created_at: Time,
    last_used_at: Type.Optional(Time),
  }),
)

export const listPasskeys = contract({
  ...console,
  auth: 'session',
  id: 'listPasskeys',
  method: 'GET',
  url: '/console/passkeys',
  summary: 'List the passkeys of the person, oldest first',
  description: 'At most 20. `origin` is absent where passkeys cannot work: without HTTPS, or at an address.',
  status: 200,
  reply: Ok({
    passkeys: Type.Array(Passkey),
    origin: Type.Optional(Type.String({ description: 'Where passkeys work', examples: ['https://t.example'] })),
  }),
  errors: { conflict: noPerson },
})

export const preparePasskey = contract({
  ...console,
  auth: 'session',
  proof: true,
  ownAnswer: true,
  id: 'preparePasskey',
  method: 'POST',
  url: '/console/passkeys/options',
  summary: 'Create the options for a new passkey',
  description: 'The browser answers them within five minutes, once. The passkey is discoverable and verifies the user.',
  status: 200,
  reply: Ok({ options: Options }),
  errors: { conflict: `The person has 20 passkeys (too_many_passkeys). ${noPerson}` },
  codes: { forbidden: ['passkeys_unavailable'] },
})

export const createPasskey = contract({
  ...console,
  auth: 'session',
  proof: true,
  id: 'createPasskey',
  makes: 'factor',
  method: 'POST',
  url: '/console/passkeys',
  summary: 'Add a passkey with the answer of the browser',
  description:
    'The body has what PublicKeyCredential.toJSON() returns, and a name by which the person knows the passkey.',
  body: Type.Object({ name: FreeText(100), credential: Registration }),
  status: 201,
  reply: Ok({ passkey: Passkey }),
  errors: {
    conflict: `The device has a passkey here already (passkey_exists), or the person has 20 (too_many_passkeys). ${noPerson}`,
  },
  codes: { invalid: ['wrong_passkey'], forbidden: ['passkeys_unavailable'] },
})

export const deletePasskey = contract({
  ...console,
  auth: 'session',
  proof: true,
  id: 'deletePasskey',
  method: 'DELETE',
  url: '/console/passkeys/:passkey_uuid',
  summary: 'Remove a passkey',
  description:
    'It signs in no more. The device keeps it until it is removed there. All other sessions of the person end.',
  params: Type.Object({ passkey_uuid: Id('PKY') }),
  status: 200,
  reply: Success,
  errors: { notFound: 'No such passkey of the person', conflict: noPerson },
})

export const preparePasskeySignIn = contract({
  ...console,
  auth: 'none',
  opensSession: true,
  id: 'preparePasskeySignIn',
  method: 'POST',
  url: '/console/session/passkey/options',
  summary: 'Create the options for a sign-in, or a fresh proof, with a passkey',
  description: 'They name no person: the device knows its passkeys. A passkey answers them within five minutes, once.',
  status: 200,
  reply: Ok({ options: Options }),
  errors: {},
  codes: { forbidden: ['passkeys_unavailable'] },
})
