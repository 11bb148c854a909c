// Limits of snoozed conversations.

/** Conversations that are opened in one transaction. */
export const dueBatchSize = 200
