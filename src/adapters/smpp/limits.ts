// Limits of SMPP connections.

/** Milliseconds to wait for the response to an unbind. */
export const unbindTimeoutMs = 1_000

/** Consecutive unanswered submits after which the bind is renewed, because the session may be stuck. */
export const maxUnansweredSubmits = 3

/** Milliseconds after which a bind resets the back-off. */
export const stableBindMs = 10_000

/** Milliseconds before a carrier that refused the account is retried: it may block our address. */
export const refusedRetryMs = 300_000

/** Milliseconds before a bind is retried that the carrier refused while it may still count those of another process. */
export const formerLinkRetryMs = 1_500

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

/** Octets of an unparsed receipt that the operator sees. A receipt of SMPP 3.4 has at most some 200. */
export const maxUnparsedOctets = 1_024

/** Optional parameters of an unparsed receipt that the operator sees. */
export const maxUnparsedParameters = 16

/** Octets of each of these parameters. */
export const maxUnparsedParameterOctets = 255
