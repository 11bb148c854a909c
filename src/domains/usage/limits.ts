// Limits of usage reports.

/** Transfers per statement: one of them may stand for hundreds of messages. */
export const foldBatchSize = 100

/** Milliseconds of one run of the fold. The next one follows seconds later. */
export const foldRunMs = 1_000

/** Transfers of an account that a report counts itself. Beyond it, the worker has to catch up first. */
export const maxPendingTransfers = 5_000

/** Days of a report. */
export const maxReportDays = 400

/** Series of a report; the others are added up. */
export const maxSeries = 100

/** Transfers that the metric of the backlog counts. */
export const maxMeteredTransfers = 100_000
