// Limits of dead jobs.

/** Characters shown of each payload. */
export const maxShownPayloadLength = 4_000

/** Dead jobs that one request requeues or deletes: about a second of one transaction. */
export const maxChangedDeadJobs = 10_000

/** Days after which a dead job is deleted whose failure took effect: its message, hold or request shows it too. The same
 *  as for dead letters of chat networks. */
export const settledDeadJobDays = 90

/** The same for the others: their work is not done, and an operator may still fix the cause. */
export const openDeadJobDays = 365

/** Dead jobs of a kind. Bounds the table, and keeps kinds that fail often from displacing others. At 2 KiB each, 20 MiB. */
export const maxDeadJobsPerKind = 10_000

/** Dead jobs of a kind that one run deletes: more than an installation adds in the minute between two runs. */
export const deadJobBatchSize = 20_000

/** Seconds between runs that delete dead jobs. */
export const deadJobRetentionSeconds = 60
