// Limits of timelines.

/** Entries of a timeline. Later ones are left out, except the last. */
export const maxEntries = 500
