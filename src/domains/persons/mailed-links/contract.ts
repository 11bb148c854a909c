import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Ok, Success, Time } from '../../../platform/http/schema.ts'
import { LinkToken, Person } from '../schemas.ts'

const console = { shape: 'full', tag: 'Console' } as const

const noPerson = 'The session was opened with a key, and has no person (no_person)'

export const requestPasswordReset = contract({
  ...console,
  auth: 'none',
  id: 'requestPasswordReset',
  makes: 'own-link',
  method: 'POST',
  url: '/console/password-reset',
  summary: 'Mail a link to set a new password to a person who forgot it',
  description:
    'The reply is the same whether the address has a person. The link works once, for an hour, and proves the address. Without a mail server nothing is sent (smtp of GET /console/claim): ask an owner of the account or the operator for a link.',
  body: Type.Object(
    { email: Type.String({ maxLength: 254, examples: ['ada@example.com'] }) },
    { examples: [{ email: 'ada@example.com' }] },
  ),
  status: 202,
  reply: Success,
  errors: {
    tooMany: 'Too many requests from this address, or for this e-mail address (sign_in_pace)',
  },
})

export const requestEmailProof = contract({
  ...console,
  auth: 'session',
  id: 'requestEmailProof',
  makes: 'own-link',
  method: 'POST',
  url: '/console/me/email-proof',
  summary: 'Mail a link that proves the e-mail address of the person',
  description: 'The link works once, for an hour, with a session of the person. An earlier one ends.',
  status: 202,
  reply: Ok({ mailed_to: Type.String(), expires_at: Time }),
  errors: {
    conflict: `The address is proved already (email_is_proved), another person proved it (email_proved_elsewhere), or the installation sends no mail (mail_not_configured). ${noPerson}`,
    tooMany:
      'The address got several such mails (mail_limit), or too many wrong keys or tokens came from this address (too_many_failures)',
  },
})

export const proveEmail = contract({
  ...console,
  auth: 'session',
  id: 'proveEmail',
  method: 'POST',
  url: '/console/me/email-proof/accept',
  summary: 'Prove the e-mail address of the person with the token of the mailed link',
  description:
    'The session must be of the person who asked for the link: a stranger who entered the address proves nothing by a mail that its owner opens. Other sessions of the person end.',
  body: Type.Object({ token: LinkToken }),
  status: 200,
  reply: Ok({ person: Person }),
  errors: {
    notFound: 'No such link for the person of this session, or it has expired',
    conflict: `Another person proved the address (email_proved_elsewhere). ${noPerson}`,
  },
})
