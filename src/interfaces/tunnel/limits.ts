// Limits of the tunnel.

/** Concurrent listeners of one account and of this process. */
export const listenerLimits = { perKey: 10, total: 500 }

/** Concurrent event reads. The reads of one account run one after the other, and all of them use few connections. */
export const readLimits = { perKey: 1, total: 3 }

/** Bytes of a frame from the laptop. */
export const maxFrameBytes = 4_096

/** Bytes that may wait for a slow connection. */
export const maxBufferedBytes = 1_048_576

/**
 * Milliseconds by which reads look back. Events get their id when they are written and become visible when their
 * transaction commits: a slow transaction becomes visible behind later ids.
 */
export const lookbackMs = 10_000

/** Events scanned by one read: bounds the events that are delivered, remembered and scanned again. */
export const eventPageSize = 5_000
