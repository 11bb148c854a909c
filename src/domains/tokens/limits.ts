// Limits of tokens.

/** Unexpired revoked tokens per account: every process holds them in memory. */
export const maxRevokedTokens = 10_000

/** Seconds that a voice token lasts at least: a page needs them to connect. The end of the key that mints it comes first. */
export const shortestTtl = 60

/** Seconds that a voice token lasts at most: a stolen one is used until then. */
export const longestTtl = 86_400

/** Seconds that a voice token lasts by default. */
export const defaultTtl = 3_600
