// Limits of tokens.

/** Unexpired revoked tokens per account: every process holds them in memory. */
export const maxRevokedTokens = 10_000

/** Seconds that a voice token lasts at least, at most, and by default. The end of the key that mints it comes first. */
export const shortestTtl = 60
export const longestTtl = 86_400
export const defaultTtl = 3_600
