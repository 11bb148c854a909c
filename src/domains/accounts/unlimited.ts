/**
 * Shown if an account has no quota of calls or checks: clients subtract the usage from it. The greatest integer of 32
 * bits, which typed clients can hold.
 */
export const unlimited = 2_147_483_647
