// Limits of drafts.

/** UTF-16 units of a draft: those of a message or note. */
export const maxDraftLength = 10_000
