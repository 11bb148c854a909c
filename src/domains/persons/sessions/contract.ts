import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Id, Named, Ok, Success, Time } from '../../../platform/http/schema.ts'
import { Assertion } from '../passkeys/passkey-credentials.ts'
import { bootReply, Code, Email, LinkToken, Password } from '../schemas.ts'

const console = { shape: 'full', tag: 'Console' } as const

const paced = 'Too many wrong attempts from this address, or for this e-mail address (sign_in_pace)'
const tooManyKeys = 'too many wrong keys or tokens from this address (too_many_failures)'
const cookie = { 'Set-Cookie': 'The session; for a person, also the mark of a browser in which the person signed in' }

export const showClaim = contract({
  ...console,
  auth: 'none',
  id: 'showClaim',
  method: 'GET',
  url: '/console/claim',
  summary: 'Report whether the installation has its first person, and whether it sends mail',
  description: 'The start prints a claim link until there is a first person.',
  status: 200,
  reply: Ok({
    claimed: Type.Boolean(),
    smtp: Type.Boolean({ description: 'Whether a person who forgot the password gets a link by mail' }),
  }),
  errors: {},
})

export const claimInstallation = contract({
  ...console,
  auth: 'none',
  opensSession: true,
  waits: true,
  id: 'claimInstallation',
  makes: 'session',
  method: 'POST',
  url: '/console/claim',
  summary: 'Create the first person with the token of the claim link, and sign in',
  description:
    'The person becomes operator of the installation and owner of its first account. A link works once: of several requests at once, one succeeds.',
  body: Type.Object({
    token: LinkToken,
    name: FreeText(100),
    email: Email,
    password: Password,
    code: Type.Optional(Code),
  }),
  status: 201,
  reply: bootReply,
  headers: cookie,
  errors: {
    unauthorized: 'The token is not that of a claim link, or the link has expired',
    gone: 'The installation has its first person (already_claimed)',
    tooMany: paced,
    unavailable: 'Too many sign-ins are under way (sign_in_busy)',
  },
  codes: {
    invalid: ['weak_password'],
    unauthorized: ['unauthorized', 'password_exists', 'wrong_code'],
    forbidden: ['second_factor_required'],
  },
})

export const signIn = contract({
  ...console,
  auth: 'none',
  opensSession: true,
  waits: true,
  id: 'signIn',
  makes: 'session',
  method: 'POST',
  url: '/console/session',
  summary: 'Sign in with an e-mail address and password, with a passkey, or with a key',
  description:
    'The response sets the cookie of the session. A session of an API key or operator key has the rights of that key. ' +
    'A refusal does not reveal whether the person exists. Several persons may have one address until one proves it: the password decides, then account. A person with a second factor sends code too: a request without it gets 403 second_factor_required.',
  body: Type.Object(
    {
      email: Type.Optional(Type.String({ maxLength: 254, examples: ['ada@example.com'] })),
      password: Type.Optional(Password),
      code: Type.Optional(Code),
      account: Type.Optional({
        ...Id('ACC'),
        description:
          'With email: the person of this account is tried first. Decides when the password fits several persons',
      }),
      key: Type.Optional(Type.String({ maxLength: 200, description: 'API key or operator key, instead' })),
      passkey: Type.Optional(Assertion),
    },
    { examples: [{ email: 'ada@example.com', password: 'seven green boats sail' }] },
  ),
  status: 201,
  reply: bootReply,
  headers: cookie,
  errors: {
    unauthorized: 'The e-mail address or password is wrong, or the key is not valid (key_expired)',
    conflict: 'The password fits several persons with this address: send account too (account_choice)',
    tooMany: `${paced}, or ${tooManyKeys}`,
    unavailable: 'Too many sign-ins are under way (sign_in_busy)',
  },
  codes: {
    unauthorized: ['unauthorized', 'wrong_code'],
    forbidden: ['address_not_allowed', 'second_factor_required', 'passkeys_unavailable'],
  },
  faults: Type.Object({
    accounts: Type.Optional(
      Type.Array(Type.Object({ uuid: Id('ACC'), name: Type.String() }), {
        description: 'With account_choice: accounts of which to send one as account',
      }),
    ),
  }),
})

export const showSession = contract({
  ...console,
  auth: 'session',
  id: 'showSession',
  method: 'GET',
  url: '/console/session',
  summary: 'Show the session: its person, accounts and capabilities',
  description: 'A console begins with this request.',
  status: 200,
  reply: bootReply,
  errors: {},
})

export const signOut = contract({
  ...console,
  auth: 'session',
  id: 'signOut',
  method: 'DELETE',
  url: '/console/session',
  summary: 'Sign out',
  description: 'Every process refuses the session within half a second, and its sockets close.',
  status: 200,
  reply: Success,
  headers: cookie,
  errors: {},
})

export const proveSession = contract({
  ...console,
  auth: 'session',
  waits: true,
  id: 'proveSession',
  method: 'POST',
  url: '/console/session/proof',
  summary: 'Prove the session again with the password, a passkey, or the key',
  description: 'Operations with a risk need a proof that is at most 15 minutes old. Signing in counts as one.',
  body: Type.Object(
    {
      password: Type.Optional(Password),
      key: Type.Optional(Type.String({ maxLength: 200 })),
      passkey: Type.Optional(Assertion),
    },
    { examples: [{ password: 'seven green boats sail' }] },
  ),
  status: 200,
  reply: Ok({ proved_at: Time }),
  errors: {
    unauthorized: 'There is no session, or it ended (session_expired), or the password or key is wrong',
    tooMany: `Too many wrong attempts in this session (sign_in_pace), or ${tooManyKeys}`,
    unavailable: 'Too many sign-ins are under way (sign_in_busy), or the database cannot be reached',
  },
  codes: { unauthorized: ['unauthorized'], forbidden: ['passkeys_unavailable'] },
})

export const listSessions = contract({
  ...console,
  auth: 'session',
  id: 'listSessions',
  method: 'GET',
  url: '/console/sessions',
  summary: 'List the sessions of the person, or of the key, newest first',
  description: 'At most 100 sessions are listed.',
  status: 200,
  reply: Ok({
    sessions: Type.Array(
      Named(
        'OpenSession',
        Type.Object({
          uuid: Id('SES'),
          current: Type.Boolean({ description: 'True for the session of this request' }),
          address: Type.String(),
          user_agent: Type.String(),
          created_at: Time,
          seen_at: Time,
        }),
      ),
    ),
  }),
  errors: {},
})

export const endOtherSessions = contract({
  ...console,
  auth: 'session',
  id: 'endOtherSessions',
  method: 'DELETE',
  url: '/console/sessions',
  summary: 'End all other sessions of the person or key',
  description:
    'Every process refuses them within half a second. Other browsers of the person no longer count as known at a sign-in.',
  status: 200,
  reply: Ok({ ended: Type.Integer() }),
  errors: {},
})

export const endSession = contract({
  ...console,
  auth: 'session',
  id: 'endSession',
  method: 'DELETE',
  url: '/console/sessions/:session_uuid',
  summary: 'End one session of the person or key',
  description: 'Every process refuses it within half a second. The own session may be ended, too.',
  params: Type.Object({ session_uuid: Id('SES') }),
  status: 200,
  reply: Success,
  errors: { notFound: 'No such session of the person or key' },
})
