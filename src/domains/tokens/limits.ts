// Limits of tokens.

/** Unexpired revoked tokens per account: every process holds them in memory. */
export const maxRevokedTokens = 10_000
