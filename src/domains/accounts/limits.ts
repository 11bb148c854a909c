// Limits of accounts.

/** Unmarked accounts that are held in memory. Beyond it, no account counts as a sandbox account. */
export const maxExcludedAccounts = 10_000

/** Unrevoked keys per account. Each revocation clears the key cache of every process. */
export const maxKeys = 100

/** Keys with a daily spend limit of which one was made with the other, and so on: each payment of the last looks at all. */
export const maxLimitedMakers = 10

/** Keys that an account creates within 24 hours, for the same reason as `maxKeys`. */
export const maxKeysPerDay = 1_000
