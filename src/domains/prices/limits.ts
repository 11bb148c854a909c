// Limits of prices.

/** Bad lines that the text of a refusal lists. */
export const maxListedFaults = 20

/** Prices listed in an audit row; the rest is only counted. */
export const maxAuditedPrices = 100

/** Prices per statement: 20,000 values, which the driver writes in one turn of the event loop. */
export const priceBatchSize = 5_000
