// Limits of the search in conversations.

/** Rows that are read backwards by time: a word that is found less often in them is looked up in the index. */
export const examinedNewest = 3_000

/** Texts that are compared with the words, for each result: the index knows beginnings of 6 letters only. */
export const comparedTexts = 4

/** Conversations with the words of a search that are ordered by their last item; older ones are not found by a name. */
export const comparedNames = 200

/** UTF-16 units of a text that a result shows. */
export const snippetLength = 160
