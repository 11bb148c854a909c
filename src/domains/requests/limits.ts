// Limits of the request log. Two token buckets for each account and process keep one tenant from filling it.

/** Refused requests of an account that are recorded at once. */
export const refusalBurst = 1_000

/** Refused requests that are recorded each second after that. */
export const refusalsPerSecond = 1

/** Other requests of an account that are recorded at once. */
export const sampleBurst = 60

/** Other requests that are recorded each second after that. */
export const samplesPerSecond = 0.2

/** Accounts whose buckets are kept. Bounds memory: about 200 bytes each. */
export const maxAccounts = 20_000

/** Requests that wait to be written. Bounds memory: about 300 bytes each. */
export const maxWaiting = 10_000

/** Requests of one account that wait: the others keep their room. */
export const maxWaitingOfAccount = 2_000

/** Rows of one statement. */
export const writeSize = 1_000

/** Days for which requests are stored. */
export const storedDays = 7

/** Rows deleted at once. */
export const purgeSize = 20_000

/** Requests that one page examines for a filter without an index. */
export const maxExamined = 10_000
