// Limits of tags.

/** Tags of an account. */
export const maxTags = 500

/** Tags of one conversation. */
export const maxConversationTags = 20

/** Characters of a name. */
export const maxTagNameLength = 50

/** Conversations that lose a deleted tag in one transaction. */
export const untagBatchSize = 500
