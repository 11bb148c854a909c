// Limits of the number supplier DIDWW.

/** Milliseconds of one request, from its turn to the end of its answer. */
export const requestTimeoutMs = 8_000

/**
 * Milliseconds that a request waits in the queue. The difference is reserved for jobs, however many searches there
 * are.
 */
export const maxQueueMs = { hasty: 2_500, patient: 5_000 }

/** Bytes of a response. A page of 100 groups with its related resources takes about 500,000. */
export const maxResponseBytes = 8 * 1024 * 1024

/** Consecutive failures after which requests fail at once for a while. */
export const maxFailures = 3

/** Milliseconds for which requests then fail at once. */
export const restMs = 10_000
