import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, FreeText, Ok, Time } from '../../../platform/http/schema.ts'
import { bootReply, Code, Delivery, Email, invitationLink, LinkToken, linkErrors, Password } from '../schemas.ts'

const console = { auth: 'none', shape: 'full', tag: 'Console' } as const

const refused = {
  notFound: 'No such invitation, or it has expired',
  conflict: 'The invitation was used (invitation_used)',
} as const

export const showInvitation = contract({
  ...console,
  id: 'showInvitation',
  method: 'POST',
  url: '/console/invitations/show',
  summary: 'Show an invitation or password link',
  description:
    'The console shows it to the invited person before the person accepts it. The token is in the body, as proxies log paths.',
  body: Type.Object({ token: LinkToken }),
  status: 200,
  reply: Ok({
    kind: Enum(['invite', 'password'], { description: 'password: sets a new password' }),
    account_name: Type.String({ description: 'Trunkline for a person of the installation' }),
    email: Type.String(),
    name: Type.String({ description: 'The name that the inviting person gave, or that of the person' }),
    invited_by: Type.String({ description: 'Empty if the person asked for the link' }),
    passkeys: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), created_at: Time }), {
        description: 'Of a password link: the passkeys of the person',
      }),
    ),
    expires_at: Time,
  }),
  errors: { ...refused, tooMany: 'Too many unknown tokens from this address (too_many_failures)' },
})

export const acceptInvitation = contract({
  ...console,
  opensSession: true,
  waits: true,
  id: 'acceptInvitation',
  makes: 'session',
  method: 'POST',
  url: '/console/invitations/accept',
  summary: 'Accept an invitation, or set a new password, and sign in',
  description:
    'A person who exists already joins the account with the present password; otherwise the password is that of a new person. A mailed link proves the address: then a person who proved it before must give the present password. A password link sets the new one; all sessions, voice tokens and passkeys of the person end. A person with a second factor sends code too (second_factor_required).',
  body: Type.Object(
    {
      token: LinkToken,
      name: Type.Optional(FreeText(100)),
      password: Password,
      code: Type.Optional(Code),
      existing: Type.Optional(
        Type.Boolean({
          description:
            'True: the password is that of a person who exists, however weak, and a wrong one is refused. Default: false',
        }),
      ),
      remove_passkeys: Type.Optional(
        Type.Boolean({
          description:
            'Of a password link, and of a mailed invitation that proves the address. False keeps the passkeys of the person. Default: true',
        }),
      ),
    },
    { examples: [{ token: '3q2-7w', name: 'Ada Lovelace', password: 'seven green boats sail' }] },
  ),
  status: 201,
  reply: bootReply,
  headers: { 'Set-Cookie': 'The session' },
  errors: {
    ...refused,
    unauthorized:
      'The password is not that of the person who exists, or the person who proved the address must give the present one (password_exists), or the code is wrong (wrong_code)',
    tooMany: 'Too many unknown tokens from this address (too_many_failures), or too many wrong attempts (sign_in_pace)',
    unavailable: 'Too many sign-ins are under way (sign_in_busy)',
  },
  codes: {
    invalid: ['weak_password'],
    unauthorized: ['unauthorized', 'password_exists'],
    forbidden: ['second_factor_required'],
  },
})

export const inviteOperator = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: persons',
  id: 'inviteOperator',
  makes: 'operator',
  client: 'persons.invite',
  proof: true,
  ownAnswer: true,
  method: 'POST',
  url: '/operator/invitations',
  summary: 'Invite a person to operate the installation',
  description:
    'The link works once, for seven days. It is mailed, or shown: send a shown one by a channel that only the person reads. The operator vouches for the address.',
  body: Type.Object({
    email: Email,
    operator: Enum(['operator', 'observer'], { description: 'Rights in the installation' }),
    delivery: Type.Optional(Delivery),
  }),
  status: 201,
  reply: Ok(invitationLink),
  errors: linkErrors,
  cli: 'persons invite',
})

export const createClaimLink = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: persons',
  id: 'createClaimLink',
  makes: 'operator',
  proof: true,
  client: 'persons.createClaimLink',
  ownAnswer: true,
  method: 'POST',
  url: '/operator/console/claim-link',
  summary: 'Create a link that makes the first person of the installation',
  description: 'The link works once, for seven days. The start prints one as long as there is no person.',
  status: 201,
  reply: Ok({ claim_url: Confidential(Type.String()), expires_at: Time }),
  errors: { gone: 'The installation has its first person (already_claimed)' },
  cli: 'console claim-link',
})
