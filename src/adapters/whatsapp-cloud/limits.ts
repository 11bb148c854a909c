// Limits of numbers of a WhatsApp business account.

/** Milliseconds for a round trip: pings are sent every 5 s. */
export const pingTimeoutMs = 4_000

/** Milliseconds for which attached numbers share one list of the account's numbers. */
export const listTtlMs = 2_000

/** Milliseconds for a request without a file. */
export const requestTimeoutMs = 20_000

/** Milliseconds for the upload or download of a file. */
export const fileTimeoutMs = 120_000

/** Bytes of a response. A page of 100 numbers takes about 40,000. */
export const maxResponseBytes = 4 * 1024 * 1024

/** Characters of a caption, a limit of the network. */
export const maxCaptionLength = 1_024

/** Pages of an account's numbers. Accounts have 20 numbers, or some thousands after a review. */
export const maxPhonePages = 50

/** Milliseconds to wait for a turn; a later message returns to the queue. */
export const maxSendWaitMs = 30_000

/**
 * Milliseconds between messages: a number may send 80 a second unless its account has a higher limit (Cloud API,
 * "Throughput").
 */
export const sendIntervalMs = 1_000 / 80
