// Limits of connections.

/** Seconds for which a test waits until a carrier is connected or refused. */
export const settleSeconds = 10

/** Connections that are kept open for callbacks: a carrier may report on hundreds of messages a second. */
export const maxCachedConnections = 500

/** Milliseconds between publications of this process's states. */
export const statePublishMs = 2_000

/** Seconds after which a silent process counts as dead or as cut off from its database. */
export const silentAfterSeconds = 8

/** Milliseconds between polls for an answer, and for a request to a connection that is just starting here. */
export const answerPollMs = 150

/** Seconds within which a process must take a request. */
export const takeSeconds = 5

/** Seconds for a test, which waits up to 10 s itself, and for an examination, in which a call may ring for 20 s. */
export const requestSeconds = { test: 14, examine: 60 } as const
