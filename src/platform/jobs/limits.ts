// Limits of jobs that send requests to receivers of accounts (request-share.ts).

/** Requests that a process makes at once for one kind of job: to one host, to receivers that answer within a second, and to
 *  all others. */
export const requestConcurrency = { perHost: 32, quick: 64, other: 64 } as const

/** Jobs of a kind that a process has in memory: under way, or waiting for a slot. */
export const maxHeldRequests = 256

/** Jobs that one statement claims or ends. */
export const requestBatch = 64

/** Seconds, about, before a job of an account that has its whole room is tried again. */
export const heldBackSeconds = 5

/** Such jobs in a second: each costs a claim and its end. */
export const heldBackPerSecond = 256

/** Milliseconds within which an answer makes a receiver quick. */
export const quickReceiverMs = 1_000

/** Receivers that are remembered as quick. Beyond it, all are forgotten. */
export const maxQuickReceivers = 10_000
