// Limits of conversations that are closed after days without an item.

/** Seconds between two runs. */
export const closeEverySeconds = 60

/** Conversations that one run closes: of one account, and in all. */
export const closedAtOnce = { account: 200, all: 1_000 }
