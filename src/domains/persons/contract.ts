import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Time } from '../../platform/http/schema.ts'
import { Delivery, Password, Person } from './schemas.ts'

const console = { auth: 'session', shape: 'full', tag: 'Console' } as const

export const changeMe = contract({
  ...console,
  id: 'changeMe',
  method: 'PATCH',
  url: '/console/me',
  summary: 'Change the person of the session: name, language, time zone, preferences',
  description: 'Absent fields stay unchanged. Preferences are replaced as a whole.',
  body: Type.Object(
    {
      name: Type.Optional(FreeText(100)),
      locale: Type.Optional(
        Type.Union([Type.String({ maxLength: 35, pattern: '^[A-Za-z0-9-]*$', examples: ['en-GB'] }), Type.Null()]),
      ),
      timezone: Type.Optional(Type.Union([Type.String({ maxLength: 60, examples: ['Europe/London'] }), Type.Null()])),
      preferences: Type.Optional(
        Type.Record(Type.String({ maxLength: 60 }), Type.Unknown(), { description: 'At most 16 KiB' }),
      ),
    },
    { examples: [{ name: 'Ada Lovelace' }] },
  ),
  status: 200,
  reply: Ok({ person: Person }),
  errors: { conflict: 'The session was opened with a key, and has no person (no_person)' },
})

export const changePassword = contract({
  ...console,
  waits: true,
  id: 'changePassword',
  makes: 'factor',
  method: 'POST',
  url: '/console/me/password',
  summary: 'Change the password of the person; all other sessions end',
  description: 'Every process refuses the other sessions within half a second.',
  body: Type.Object({ current: Password, password: Password }),
  status: 200,
  reply: Ok({ ended: Type.Integer({ description: 'Other sessions that ended' }) }),
  errors: {
    unauthorized: 'There is no session, or it ended (session_expired), or the current password is wrong',
    conflict: 'The session was opened with a key, and has no person (no_person)',
    tooMany:
      'Too many wrong attempts in this session (sign_in_pace), or too many wrong keys or tokens from this address (too_many_failures)',
    unavailable: 'Too many sign-ins are under way (sign_in_busy), or the database cannot be reached',
  },
  codes: { invalid: ['weak_password'], unauthorized: ['unauthorized'] },
})

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: persons' } as const

const OperatorRole = Enum(['operator', 'observer'])

const ListedPerson = Named(
  'ListedPerson',
  Type.Object({
    uuid: Id('PRS'),
    name: Type.String(),
    email: Type.String(),
    email_proved: Type.Boolean(),
    operator: Type.Optional(OperatorRole),
    suspended: Type.Boolean(),
    has_password: Type.Boolean(),
    second_factor: Type.Boolean(),
    created_at: Time,
    last_seen_at: Type.Optional(Time),
  }),
)

export const listPersons = contract({
  ...operator,
  id: 'listPersons',
  client: 'persons.list',
  method: 'GET',
  url: '/operator/persons',
  summary: 'List the persons of the installation, oldest first',
  description: 'Follow next_cursor for further persons.',
  query: Type.Object({
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer(),
    persons: Type.Array(ListedPerson),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
  cli: 'persons list',
})

export const changePerson = contract({
  ...operator,
  id: 'changePerson',
  makes: 'operator',
  client: 'persons.update',
  proof: true,
  method: 'PATCH',
  url: '/operator/persons/:person_uuid',
  summary:
    'Suspend a person, vouch for the address, remove the second factor, or change the rights in the installation',
  description:
    'Sessions of the person end within half a second when the person is suspended or the second factor is removed. Rights in the installation vouch for the address too.',
  params: Type.Object({ person_uuid: Id('PRS') }),
  body: Type.Object(
    {
      operator: Type.Optional(Type.Union([OperatorRole, Type.Null()], { description: 'Null: no rights' })),
      suspended: Type.Optional(Type.Boolean()),
      email_proved: Type.Optional(
        Type.Boolean({ description: 'True: the operator vouches that the address is that of the person' }),
      ),
      second_factor: Type.Optional(
        Type.Literal(false, { description: 'Removes the second factor, for a person who lost app and codes' }),
      ),
    },
    { examples: [{ suspended: false }] },
  ),
  status: 200,
  reply: Ok({ person: ListedPerson }),
  errors: {
    notFound: 'No such person',
    conflict:
      'The person is the one of this session (own_person), or another person proved the address (email_proved_elsewhere)',
  },
  cli: 'persons change',
})

export const createPasswordLink = contract({
  ...operator,
  id: 'createPasswordLink',
  makes: 'link',
  client: 'persons.createPasswordLink',
  proof: true,
  ownAnswer: true,
  method: 'POST',
  url: '/operator/persons/:person_uuid/password-link',
  summary: 'Create a link with which a person sets a new password',
  description:
    'The link works once, for a day. Earlier links of the person end. It is mailed, or shown: send a shown one by a channel that only the person reads.',
  params: Type.Object({ person_uuid: Id('PRS') }),
  body: Type.Object({ delivery: Type.Optional(Delivery) }),
  status: 201,
  reply: Ok({
    password_url: Type.Optional(Confidential(Type.String({ description: 'Absent if the link was mailed' }))),
    mailed_to: Type.Optional(Type.String({ description: 'Address that the link was mailed to' })),
    expires_at: Time,
  }),
  errors: {
    notFound: 'No such person',
    conflict:
      'The installation sends no mail (mail_not_configured), or another person proved the address (email_proved_elsewhere)',
    tooMany:
      'The address got several such mails (mail_limit), or too many wrong keys or tokens came from this address (too_many_failures)',
  },
  cli: 'persons password-link',
})
