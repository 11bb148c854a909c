import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Ok, Success, Time } from '../../../platform/http/schema.ts'
import { Code } from '../schemas.ts'

const console = { auth: 'session', shape: 'full', tag: 'Console' } as const

const noPerson = 'The session was opened with a key, and has no person (no_person)'

export const showSecondFactor = contract({
  ...console,
  id: 'showSecondFactor',
  method: 'GET',
  url: '/console/totp',
  summary: 'Show whether the person has a second factor',
  description: 'The secret and the recovery codes are never shown again.',
  status: 200,
  reply: Ok({
    active: Type.Boolean(),
    activated_at: Type.Optional(Time),
    recovery_codes_left: Type.Integer(),
  }),
  errors: { conflict: noPerson },
})

export const prepareSecondFactor = contract({
  ...console,
  proof: true,
  ownAnswer: true,
  id: 'prepareSecondFactor',
  makes: 'factor',
  method: 'POST',
  url: '/console/totp',
  summary: 'Create the secret of an authenticator app',
  description:
    'TOTP (RFC 6238): SHA-1, 6 digits, 30 s. Nothing changes until POST /console/totp/verify receives a code of the app. Another request replaces the secret.',
  status: 201,
  reply: Ok({
    secret: Confidential(Type.String({ description: 'In base32, to enter it by hand' })),
    otpauth_url: Confidential(Type.String({ description: 'For a QR code' })),
  }),
  errors: {
    conflict: `The person has a second factor: remove it first (second_factor_exists). ${noPerson}`,
  },
})

export const activateSecondFactor = contract({
  ...console,
  ownAnswer: true,
  waits: true,
  id: 'activateSecondFactor',
  makes: 'factor',
  method: 'POST',
  url: '/console/totp/verify',
  summary: 'Activate the second factor with a first code',
  description:
    'Sign-ins with the password need a code from then on. The ten recovery codes are shown once. All other sessions of the person end.',
  body: Type.Object({ code: Code }),
  status: 200,
  reply: Ok({ recovery_codes: Confidential(Type.Array(Type.String({ examples: ['abcd-efgh-ijkl-mnop'] }))) }),
  errors: {
    unauthorized: 'There is no session, or it ended (session_expired), or the code is wrong (wrong_code)',
    conflict: `There is no secret, or the second factor is active (second_factor_state). ${noPerson}`,
    tooMany:
      'Too many wrong attempts in this session (sign_in_pace), or too many wrong keys or tokens from this address (too_many_failures)',
  },
  codes: { unauthorized: ['unauthorized'] },
})

export const removeSecondFactor = contract({
  ...console,
  proof: true,
  id: 'removeSecondFactor',
  method: 'DELETE',
  url: '/console/totp',
  summary: 'Remove the second factor and its recovery codes',
  description: 'Sign-ins with the password need no code from then on. All other sessions of the person end.',
  status: 200,
  reply: Success,
  errors: { notFound: 'The person has no second factor', conflict: noPerson },
})
