import { Type } from 'typebox'
import { capabilities } from '../../platform/http/capability.ts'
import { Confidential } from '../../platform/http/confidential.ts'
import { roles } from '../../platform/http/role.ts'
import { Enum, Id, Named, Ok, Time } from '../../platform/http/schema.ts'

export const Email = Type.String({ format: 'email', maxLength: 254, examples: ['ada@example.com'] })

/** A password that a person enters. Its rules are checked where a new one is set. */
export const Password = Type.String({ minLength: 1, maxLength: 200, examples: ['seven green boats sail'] })

/** The token of a link. */
export const LinkToken = Type.String({
  maxLength: 200,
  description: 'The part of the link after #',
  examples: ['3q2-7w'],
})

/** A code of an authenticator app, or a recovery code. */
export const Code = Type.String({
  maxLength: 40,
  description: 'Six digits of the app, or a recovery code',
  examples: ['287082'],
})

export const Delivery = Enum(['mail', 'link'], {
  description:
    'mail: the link is mailed to the address, and proves it. link: the reply has the link, which proves nothing. Default: mail if the installation sends mail, else link',
})

/** Fields of a reply that has an invitation link, or says where it went. */
export const invitationLink = {
  invite_url: Type.Optional(Confidential(Type.String({ description: 'Absent if the link was mailed' }))),
  mailed_to: Type.Optional(Type.String({ description: 'Address that the link was mailed to' })),
  expires_at: Time,
}

/** Refusals of a request that makes a link. */
export const linkErrors = {
  conflict: 'The installation sends no mail (mail_not_configured)',
  tooMany:
    'The account or the address got too many mails (mail_limit), or too many wrong keys or tokens came from this address (too_many_failures)',
} as const

const OperatorRole = Enum(['operator', 'observer'], { description: 'Rights in the installation; absent for none' })

export const Person = Named(
  'Person',
  Type.Object({
    uuid: Id('PRS'),
    name: Type.String({
      description: 'That of the user, unless the person belongs to several accounts, which may name their users',
      examples: ['Ada Lovelace'],
    }),
    email: Type.String({ examples: ['ada@example.com'] }),
    email_proved: Type.Boolean({ description: 'Whether a mail reached the address, or an operator vouched for it' }),
    operator: Type.Optional(OperatorRole),
    locale: Type.Union([Type.String(), Type.Null()], { description: 'BCP 47; null: that of the browser' }),
    timezone: Type.Union([Type.String(), Type.Null()], { description: 'IANA name; null: that of the browser' }),
    preferences: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Settings of the console, as it stored them',
    }),
  }),
)

/** First answer to a console: the session and its accounts. */
export const bootReply = Ok({
  session_uuid: Id('SES'),
  kind: Enum(['person', 'account-key', 'operator-key'], { description: 'A session of a key acts as that key' }),
  person: Type.Optional(Person),
  operator: Type.Optional(OperatorRole),
  accounts: Type.Array(
    Named(
      'SessionAccount',
      Type.Object({
        uuid: Id('ACC'),
        name: Type.String(),
        role: Type.Optional(Enum([...roles])),
        capabilities: Type.Array(Enum([...capabilities]), {
          description: 'What the session may do in the account. Empty while second_factor_missing is true',
        }),
        second_factor_missing: Type.Optional(
          Type.Boolean({
            description:
              'True: the account requires a second factor, and the person has none. Its endpoints answer 403 second_factor_required',
          }),
        ),
        user_uuid: Type.Optional(Id('USR', 'The person’s user in the account')),
        user_name: Type.Optional(Type.String({ description: 'The name of that user' })),
      }),
    ),
  ),
  installation: Named(
    'Installation',
    Type.Object({
      name: Type.String({ examples: ['Trunkline'] }),
      version: Type.String(),
      sandbox: Type.Boolean(),
      msgapp_name: Type.Optional(Type.String()),
      passkeys: Type.Boolean({ description: 'Whether passkeys can work: HTTPS or localhost, and a host name' }),
      oidc: Type.Array(Type.Object({ name: Type.String(), title: Type.String() })),
      smtp: Type.Boolean({ description: 'Whether the installation sends mail' }),
    }),
  ),
  expires_at: Time,
  now: Time,
})
