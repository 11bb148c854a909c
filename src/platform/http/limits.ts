// Limits of the HTTP server.

/** Characters of one part of a path that may be a parameter. */
export const maxParamLength = 500

/** Levels of nested values: the recursive readers would exhaust the stack. */
export const maxNestingDepth = 200

/** Milliseconds without failures after which a peer starts with short waits again. */
export const throttleResetMs = 600_000

/** Longest wait between lookups of wrong keys from one peer, in milliseconds. */
export const maxThrottleWaitMs = 60_000

/** Peers with failures. Bounds memory: about 200 bytes each. */
export const maxThrottledPeers = 10_000

/** Bytes of a body that is not counted: one per connection makes 160 MiB. */
export const uncountedUploadBytes = 16 * 1024

/** Milliseconds for which a process may use the tokens of a lot. */
export const tokenLeaseMs = 1000

/** API keys cached by their hash. Bounds memory. */
export const maxCachedKeys = 10_000

/** Targets of an audit row. */
export const maxAuditTargets = 100

/** Changed fields of an audit row. */
export const maxAuditChanges = 200

/** Milliseconds in which further refusals of a caller share one audit row. */
export const refusedWindowMs = 60_000

/** Callers whose refusals are recorded by themselves within such a time: in all, and of one account. Bounds memory. */
export const maxRefusedCallers = 10_000
export const maxRefusedCallersOfAccount = 20

/** Operations that an audit row of several refusals names. */
export const maxRefusedOperations = 20

/** Audit rows of refusals in one transaction. */
export const refusedFlushSize = 200

/** Characters of each text in an audit row. */
export const maxAuditTextLength = 500

/** Sockets; one address may have half of them. */
export const maxConnections = 10_000

/** Characters of a field name: the time to find the closest name grows with the length. */
export const maxFieldNameLength = 60

/** Milliseconds for the handshake of TLS, and for the headers of a request. */
export const handshakeTimeoutMs = 10_000
export const headersTimeoutMs = 10_000

/** Milliseconds for a whole request; uploads have a minimum rate instead. */
export const requestTimeoutMs = 15_000

/** Milliseconds between checks of the two: at Node's default of 30 s, 10 s became up to 40 s. */
export const timeoutCheckMs = 1_000

/** Idle timeout in milliseconds: long imports are silent while they are processed. */
export const idleTimeoutMs = 3_600_000

/** Concurrent key look-ups by address and in all: wrong keys use no more database connections. */
export const keyLookupLimits = { perKey: 2, total: 3, queue: { perKey: 200, total: 5_000 } }

/** Keys of addresses that have to wait: they share a statement of a kind of key, with a pause between two. */
export const throttledLookups = { maxRows: 500, maxWaiting: 4_000, spacingMs: 100 }

/** Milliseconds between measurements of an upload's rate. */
export const uploadSampleMs = 500

/** Sessions cached by their token. Bounds memory. */
export const maxCachedSessions = 10_000

/** Accounts of one person that a session knows. Bounds memory. */
export const maxSessionAccounts = 200

/** Milliseconds for which a password or key that was given counts as fresh. */
export const proofMs = 15 * 60_000

/** Fields of a form. */
export const maxFormFields = 200
