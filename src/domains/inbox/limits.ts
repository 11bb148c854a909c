// Limits of the inbox.

/** Highest numbers that are counted: conversations of a view, and unread items of a conversation. */
export const countCap = { view: 1_000, unread: 100 }

/** Characters of the last message that a list shows. */
export const lastTextLength = 160

/** Items of a number that are taken in when a conversation begins. */
export const itemsTakenIn = 200
