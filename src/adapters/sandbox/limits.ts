// Limits of the sandbox network.

/** Milliseconds for the answer to a request. */
export const requestTimeoutMs = 10_000

/** Failed round trips in a row after which the socket is replaced. */
export const maxMissedPings = 3
