// Limits of SMPP connections.

/** The furthest time that is promised, in milliseconds: a sender's queue may be gone by then. */
export const maxPromiseMs = 60_000

/** Milliseconds by which a part may be sent early, as in the pace of a connection. */
export const senderToleranceMs = 50

/** Stored senders. Those whose next turn has passed are removed first. */
export const maxStoredSenders = 10_000

/** Milliseconds to wait for the response to an unbind. */
export const unbindTimeoutMs = 1_000

/** Consecutive unanswered submits after which the bind is renewed, because the session may be stuck. */
export const maxUnansweredSubmits = 3

/** Seconds of the rate that the bucket holds: even pacing, no bursts of a second. */
export const bucketSeconds = 0.05

/** Milliseconds within which refusals count as one: the rate is cut at most once a second. */
export const slowDownIntervalMs = 1_000

/** Assumed rate per second when little was sent, so that one refusal does not nearly stop a quiet route. */
export const minCurrentRate = 20

/** Milliseconds after the last refusal when the full limit is tried again. */
export const rateRecoveryMs = 60_000

/** Milliseconds after which a bind resets the back-off. */
export const stableBindMs = 10_000

/** Milliseconds before a carrier that refused the account is retried: it may block our address. */
export const refusedRetryMs = 300_000

/** Milliseconds between binds that start together. */
export const bindSpacingMs = 20

/** The longest validity that the relative form can express in days alone, in seconds. */
export const maxRelativeValiditySeconds = 31 * 86_400

/** Inbound messages and receipts that may wait for their commit. Further ones get a temporary error. */
export const maxPendingInbound = 1_000

/** Milliseconds for which a closing connection waits for what is in flight. */
export const drainTimeoutMs = 4_000

/** Seconds before the retry of a submit that met a system error or no link. */
export const submitRetrySeconds = 0.5
