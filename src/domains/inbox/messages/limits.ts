// Limits of messages within conversations.

/** UTF-16 units of a text. SMS and networks have lower limits of their own. */
export const maxMessageLength = 10_000

/** Items that a refusal shows. */
export const maxShownItems = 20

/** UTF-16 units of a text on the messaging app: as in its own contract. */
export const maxChatTextLength = 4_096
