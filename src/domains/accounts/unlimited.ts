/** Shown if an account has no quota of calls or checks: clients subtract the usage from it. */
export const unlimited = 1_000_000_000_000
