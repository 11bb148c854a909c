import {
  conflict,
  forbidden,
  gone,
  invalid,
  notFound,
  retryAfter,
  tooMany,
  unauthorized,
  unavailable,
} from '../../platform/http/problem.ts'

export const refusals = {
  wrongPassword: () => unauthorized('The e-mail address or password is wrong'),
  /** After the right password of a mailed link, whose reader owns the mailbox: the answer may say that a person exists. */
  wrongPasswordOfProved: () =>
    unauthorized(
      'You have a password here already: use it, or reset it with POST /console/password-reset',
      'password_exists',
    ),
  accountChoice: (accounts: readonly { readonly uuid: string; readonly name: string }[]) =>
    conflict(
      'The password fits several persons: send account too, the uuid of one of accounts',
      'account_choice',
      {},
      {
        accounts,
      },
    ),
  emailProvedElsewhere: (email: string) =>
    conflict(
      `Another person proved the address ${email}: set email_proved of that person to false first`,
      'email_proved_elsewhere',
    ),
  emailIsProved: () => conflict('The address of the person is proved already', 'email_is_proved'),
  unknownProof: () => notFound('No such link for the person of this session, or it has expired: ask for a new one'),
  wrongProof: () => unauthorized('The password or key is wrong, or not that of this session'),
  wrongKey: () => unauthorized('The key is not valid, or was revoked'),
  wrongClaimToken: () =>
    unauthorized('The token is not that of a claim link: print a new link with npx trunkline console claim-link'),
  alreadyClaimed: () =>
    gone(
      'The installation has its first person already: sign in, or ask an operator for an invitation',
      'already_claimed',
    ),
  secondFactorRequired: () =>
    forbidden('The person has a second factor: send code too, of the app or a recovery code', 'second_factor_required'),
  wrongCode: () => unauthorized('The code is wrong, was used already, or has expired', 'wrong_code'),
  secondFactorExists: () => conflict('The person has a second factor: remove it first', 'second_factor_exists'),
  secondFactorState: () =>
    conflict('There is no secret to activate: create one with POST /console/totp', 'second_factor_state'),
  noSecondFactor: () => notFound('The person has no second factor'),
  passkeysUnavailable: () =>
    forbidden(
      'Passkeys need HTTPS and a host name, or localhost: set TRUNKLINE_PUBLIC_URL to the address of the console',
      'passkeys_unavailable',
    ),
  wrongPasskey: () => invalid('The answer of the passkey is not valid, or came too late: try again', 'wrong_passkey'),
  refusedPasskey: () => unauthorized('The passkey is not known here, or its answer is not valid'),
  passkeyExists: () => conflict('The device has a passkey here already', 'passkey_exists'),
  tooManyPasskeys: (most: number) =>
    conflict(`A person has at most ${most} passkeys: remove one first`, 'too_many_passkeys'),
  unknownPasskey: (passkey: string) => notFound(`No passkey ${passkey} of yours`),
  signInFields: () => invalid('The body must have email and password, or key, or passkey'),
  proofFields: (field: string) => invalid(`The body must have ${field}, with which the session was opened`),
  weakPassword: (why: string) => invalid(`password ${why}`, 'weak_password'),
  signInPace: (seconds: number) =>
    tooMany(`Too many wrong attempts: try again in ${seconds} s`, 'sign_in_pace', retryAfter(seconds)),
  openingPace: (seconds: number) =>
    tooMany(`Too many sessions were opened: try again in ${seconds} s`, 'sign_in_pace', retryAfter(seconds)),
  signInBusy: () =>
    unavailable('Too many sign-ins are under way: try again in a second', 'sign_in_busy', retryAfter(1)),
  noPerson: () =>
    conflict('The session was opened with a key, and has no person: sign in with an e-mail address', 'no_person'),
  unknownSession: (session: string) => notFound(`No session ${session} of yours`),
  unknownInvitation: () => notFound('No such invitation, or it has expired: ask for a new link'),
  invitationUsed: () => conflict('The invitation was used already: sign in, or ask for a new link', 'invitation_used'),
  unknownPerson: (person: string) => notFound(`No person ${person}`),
  ownPerson: () =>
    conflict('You cannot change the rights of the person of this session: ask another operator', 'own_person'),
  badTimezone: (name: string) => invalid(`timezone ${name} is not an IANA time zone, such as Europe/London`),
  preferencesTooLarge: (bytes: number) => invalid(`preferences must be at most ${bytes} bytes`),
  unknownMember: (user: string) => notFound(`No member ${user}`),
  lastOwner: () =>
    conflict('The member is the last active owner of the account: make another owner first', 'last_owner'),
  invitationPending: () =>
    conflict(
      'The member is still to accept the invitation: create a new link, or delete the member',
      'invitation_pending',
    ),
  operatorNeeded: () =>
    conflict(
      'The person belongs to other accounts, or operates the installation: the person resets the password at the sign-in page, or the operator makes a password link',
      'operator_needed',
    ),
}
