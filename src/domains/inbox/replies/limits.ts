// Limits of canned replies.

/** Shared replies of an account. */
export const maxSharedReplies = 500

/** Replies of one user. */
export const maxOwnReplies = 200

/** Characters of a text: a list of all replies stays below 2 MB. */
export const maxReplyLength = 3_000

/** Characters of a shortcut. */
export const maxShortcutLength = 40
