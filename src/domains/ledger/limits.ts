// Limits of the ledger.

/** Micro-dollars of one adjustment: a thousand million dollars, far within the range of exact numbers. */
export const maxAmountMicros = 1_000_000_000_000_000
