// Limits of bulk changes.

/** Conversations that one request names. */
export const maxBulkIds = 1_000

/** Conversations that one change concerns, if it names them by filters. */
export const maxBulkConversations = 100_000

/** Seconds in which a change can be undone. */
export const undoSeconds = 600

/** Conversations of one transaction. */
export const bulkBatchSize = 100

/** Conversations found by one statement. */
export const bulkPageSize = 200

/** Hours for which a finished change is stored. */
export const bulkRetentionHours = 24

/** Old changes that one run deletes, and their conversations, beyond which it deletes no further change. */
export const purgedChanges = { most: 1_000, conversations: 100_000 }
