/** Shown where an account has no quota of calls or checks: clients subtract from it what was used. */
export const unlimited = 1_000_000_000_000
