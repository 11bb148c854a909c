// Limits of persons, sign-ins and sessions.

/** Characters of a new password. */
export const minPasswordLength = 12

/** Characters that must be left of a password without common words, digits in order and words of the person. */
export const minOwnCharacters = 6

/** Different characters of a new password. */
export const minDifferentCharacters = 5

/** Password hashes under way: by address and in all. Each takes 19 MiB and about 150 ms of a processor. */
export const hashLimits = { perKey: 1, total: 2, queue: { perKey: 60, total: 200 } }

/** Wrong attempts at once, by address and by person. */
export const signInBurst = 5

/** Milliseconds until one more attempt is possible. */
export const signInIntervalMs = 30_000

/** Sessions that a person or key may open at once. */
export const openingBurst = 60

/** Milliseconds until one more session may be opened. */
export const openingIntervalMs = 1_000

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

/** Days for which an invitation or claim link works. */
export const invitationDays = 7

/** Days for which a password link works. */
export const passwordLinkDays = 1

/** Sessions of a person that are listed. */
export const maxListedSessions = 100

/** Sessions of a person or key at once: the oldest end. */
export const maxSessions = 50

/** Bytes of a person's preferences. */
export const maxPreferenceBytes = 16 * 1024

/** Days for which ended sessions and used invitations are stored. */
export const endedSessionDays = 30

/** Characters of a browser's name that are stored. */
export const maxUserAgentLength = 300
