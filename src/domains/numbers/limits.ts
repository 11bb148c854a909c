// Limits of numbers, their import and their supply.

/** Numbers per statement that moves a group: well within the database's limit of 30 s. */
export const withdrawalBatchSize = 50_000

/** Bad lines that the text of a refusal names; its fields list more. */
export const maxNamedFaults = 5

/**
 * Imported numbers per statement: 0.1 s of the database, so that other statements get their turn on a small machine.
 */
export const importBatchSize = 5_000

/** Minutes without progress after which an import counts as abandoned: its process has ended. */
export const abandonedAfterMinutes = 10

/** Staged lines that one statement clears: well within the database's limit of 30 s. */
export const clearBatchSize = 10_000

/** Characters of the name of a group. */
export const maxGroupNameLength = 60

/** Groups of one file: they are held in memory until its end. */
export const maxGroupsPerFile = 10_000

/** Lines of a file that a reader passes on at a time. */
export const readBatchSize = 2_500

/** Distinct lines, apart from their numbers, that a reader remembers as parsed. Bounds memory. */
export const maxRememberedLines = 10_000

/**
 * Concurrent supplier requests per account and in total, with their queues. The totals match the load that suppliers
 * accept.
 */
export const supplierRequestLimits = { perKey: 2, total: 64, queue: { perKey: 20, total: 1_280 } }

/** Concurrent supplier requests with an Idempotency-Key: each occupies one of few database connections. */
export const keyedSupplierRequestLimits = { perKey: 2, total: 4 }

/**
 * Seconds after which an order that was sent without an answer is sent again. By then the first one has surely arrived
 * or been lost: connection time, longest answer time and the supplier's processing together are far below this.
 */
export const resendAfterSeconds = 60

/** Numbers tried per reservation: concurrent reservations may take the same number first. */
export const maxHoldTries = 3

/** Milliseconds that a purchase waits for its delivery. */
export const deliveryWaitMs = 8_000

/**
 * Purchases that wait at a time, per account and in total. Each occupies a database connection while its request has
 * an Idempotency-Key.
 */
export const deliveryWaitLimits = { perKey: 2, total: 4 }

/** Numbers that an account may hold at suppliers: their limits apply to all accounts together. */
export const maxSupplierHolds = 5

/** Pages read of a supplier's catalogue: 200,000 groups. */
export const maxCataloguePages = 2_000

/**
 * Free numbers that one search by digits examines. Measured: 20,000 take about 5 ms; all of a group of a million took
 * 150 ms. An index over three digits each made an import five times as slow.
 */
export const maxExaminedNumbers = 20_000

/** Rows of the catalogue per statement: bounds its memory. */
export const catalogueBatchSize = 20_000

/** Bad lines that the text of a refusal lists. */
export const maxListedFaults = 20

/** Prices per statement: 40,000 values, which the driver writes in one turn of the event loop. */
export const priceBatchSize = 5_000

/** Prices that an audit row lists. The others are only counted. */
export const maxAuditedPrices = 100

/** Days of grace after the end of the paid month, before an unpaid number is released. */
export const graceDays = 7

/** Cities that a search without free numbers proposes. */
export const maxNearbyCities = 10

/** Charges of each kind that are examined for those of one number. */
export const maxTimelineTransfers = 5_000

/** Recorded acts of a timeline. */
export const maxTimelineActs = 200

/** Milliseconds between a recorded act and its effect. */
export const sameActMs = 5_000

/** Groups in which one search over a country looks for numbers. */
export const maxSearchedGroups = 50

/** Requests to suppliers of such a search. Each may take up to 12 s, and counts against the rate of the supplier. */
export const maxSupplierSearches = 5
