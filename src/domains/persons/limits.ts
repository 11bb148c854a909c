// Limits of persons, sign-ins and sessions.

/** Characters of a new password. */
export const minPasswordLength = 12

/** Guesses, as a power of ten, that a new password must withstand: the highest score of zxcvbn. */
export const minGuessesLog10 = 10

/**
 * Characters of a password that are estimated, and variants with other signs for letters. They bound the time of an
 * estimate: 5 ms for a usual password, 15 ms for the worst. By its defaults the library takes 300 ms.
 */
export const estimatorLimits = { maxLength: 32, l33tMaxSubstitutions: 10 }

/** Password hashes under way, and waiting. Each takes 19 MiB and about 50 ms of a processor. */
export const hashLimits = { running: 2, waiting: 200 }

/** Attempts at once, and milliseconds until one more is possible. */
export type Pace = { readonly burst: number; readonly intervalMs: number }

const day = 24 * 3_600_000

/** `sign-in-gate.ts` has the reasons and the sum. */
export const paces = {
  /** Wrong passwords of an address, of an e-mail address, of a known browser: 95 in an hour (ASVS 2.2.1: at most 100). */
  wrong: { burst: 5, intervalMs: 40_000 },
  /** Attempts of a network at an e-mail address whose own are used up. */
  clean: { burst: 3, intervalMs: day / 3 },
  /** The same of all networks. */
  cleanInAll: { burst: 5_000, intervalMs: day / 5_000 },
  /** Wrong codes of a second factor: an attacker with the password guesses one with 0.09 % a day. */
  code: { burst: 5, intervalMs: 300_000 },
  /** Requests for a mailed link, by address and by e-mail address. Each may send mails. */
  mail: { burst: 5, intervalMs: 60_000 },
  /** Sessions that a person or key opens. */
  opening: { burst: 60, intervalMs: 1_000 },
} as const satisfies Record<string, Pace>

/** Addresses and persons with wrong attempts. Bounds memory. */
export const maxPacedNames = 20_000

/** Bytes of the secret of an authenticator app (RFC 4226, section 4). */
export const totpSecretBytes = 20

/** Time steps of 30 s by which the clock of an app may differ. */
export const totpSteps = 1

/** Seconds for which a code of an app is shown. */
export const totpStepSeconds = 30

/** Recovery codes of a person. */
export const recoveryCodes = 10

/** Random bytes of a recovery code. */
export const recoveryCodeBytes = 10

/** Milliseconds in which a browser answers the challenge of a passkey. */
export const challengeMs = 5 * 60_000

/** Passkeys of a person. */
export const maxPasskeys = 20

/** Minutes for which an invitation or claim link works. */
export const invitationMinutes = 7 * 24 * 60

/** Minutes for which a password link works. */
export const passwordLinkMinutes = 24 * 60

/** Minutes for which a mailed link works that a person asked for: a new password, the proof of the address. */
export const proofLinkMinutes = 60

/** Mailed links of a person that work at once. */
export const maxMailedLinks = 5

/** Persons with one e-mail address whose password is checked. Each takes a hash. */
export const maxCandidates = 5

/** Accounts that the mail of a new password names for a person. */
export const maxNamedAccounts = 3

/** Accounts to choose from at a sign-in whose password fits several persons. */
export const maxChoices = 50

/** Sessions of a person that are listed. */
export const maxListedSessions = 100

/** Sessions of a person with which the browser of a sign-in is compared. */
export const maxComparedSessions = 200

/** Sessions of a person or key at once: the oldest end. */
export const maxSessions = 50

/** Bytes of a person's preferences. */
export const maxPreferenceBytes = 16 * 1024

/** Days for which ended sessions and used invitations are stored. */
export const endedSessionDays = 30

/** Days for which a browser knows the persons who signed in: as many as browsers store cookies (RFC 6265bis, 5.5). */
export const knownBrowserDays = 400

/** Persons whom a browser knows: the one who signed in first is dropped. */
export const maxKnownPersons = 5

/** Characters of a browser's name that are stored. */
export const maxUserAgentLength = 300
