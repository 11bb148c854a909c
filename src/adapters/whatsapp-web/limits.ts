// Limits of numbers linked as WhatsApp Web.

/** Addresses cached beside the keys. The library itself would cache any number for three days. */
export const maxCachedMappings = 20_000

/** Milliseconds after which a link resets the delay. */
export const stableLinkMs = 60_000

/**
 * Attempts assumed when another program has taken the link. Otherwise both would take it from each other endlessly.
 */
export const replacedAttempts = 7

/** Milliseconds for a round trip: pings are sent every 5 s. */
export const pingTimeoutMs = 4_000

/** Failed round trips in a row after which the socket is replaced. */
export const maxMissedPings = 3

/** Rounds of unscanned codes after which linking fails until requested again. */
export const maxCodeRounds = 3

/** Numbers cached per session and direction. Bounds memory. */
export const maxCachedAliases = 5_000

/** Groups per number whose members are cached; a group has at most 1,024 members. */
export const maxCachedGroups = 100

/** Milliseconds for the extra information of a check, which its answer does without if need be. */
export const extraMs = 8_000

/** Milliseconds until the network acknowledges a message. */
export const ackTimeoutMs = 15_000
