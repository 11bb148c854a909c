// Limits of notes.

/** UTF-16 units of a note. */
export const maxNoteLength = 10_000

/** Users that a note mentions. */
export const maxMentions = 50
