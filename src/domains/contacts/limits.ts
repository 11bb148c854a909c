// Limits of contacts, their search and their files.

/** Details of one contact. Address books have far fewer. */
export const maxDetails = 50

/**
 * Keys of one contact. A contact with fifty long addresses costs as much as some ordinary ones, with about 60 keys
 * each.
 */
export const maxSearchKeys = 1500

/** Contacts per index lookup: enough to choose a page from. */
export const maxPerLookup = 200

/** Words of a query that the index finds. Words beyond these affect only the ranking. */
export const maxIndexedWords = 3

/** Characters of a line of a file. A longer one is damaged, and would be held in memory. */
export const maxLineLength = 64 * 1024

/** Characters of a line that are searched for parameters. */
export const maxHeadLength = 2_000

/** Contacts that an import processes at a time. */
export const importChunkSize = 500

/** Milliseconds between renewals of an import's row. A row not renewed for three intervals is expired. */
export const importRenewMs = 10_000

/** Bad lines that the text of a refusal names; its fields list more. */
export const maxNamedFaults = 5

/** Contacts in memory at a time during an export. */
export const exportChunkSize = 500

/** Rows that one statement clears: well within the database's limit of 30 s. */
export const clearBatchSize = 50_000

/** Characters of the fields of an imported contact. */
export const maxFieldLengths = { name: 100, address: 500, picture: 2048 }

/** Characters of the label of a detail: people write a word or two. */
export const maxLabelLength = 50

/** Characters dialled after a number: the access code of a conference and a PIN, with pauses. */
export const maxExtensionLength = 50

/** Types of a property of a vCard that are read: cards have three. */
export const maxPropertyTypes = 10

/** Bytes of the beginning of a file that a preview reads. */
export const previewBytes = 256 * 1024

/** Lines of a file that a preview has, besides the names of the columns. */
export const previewLines = 20

/** Columns or properties that the result of an import names as not taken over. */
export const maxIgnoredColumns = 100

/** Contacts that a text finds in the list: its first lookups return no more. People narrow the text. */
export const maxFoundContacts = 200

/** Numbers, addresses or names that a page of duplicates examines. Measured with 100,000 contacts on a busy machine: 60 ms
 *  for numbers, 380 ms for names, whose keys are computed again for each row. */
export const maxExaminedKeys = 10_000

/** Contacts of one group of duplicates in a reply. */
export const maxDuplicatesShown = 10

/** Contacts that one request merges: each may have 50 details. */
export const maxMerged = 20

/** Pixels of the longer side of a picture. */
export const maxPicturePixels = 512

/** Bytes of a picture of that size: a PNG without compression has 1 MB. */
export const maxPictureBytes = 1_100_000

/** Bytes of pictures that a process caches. */
export const maxCachedPictureBytes = 32 * 1024 * 1024

/** Milliseconds for which a picture, or the reason why there is none, is cached. */
export const pictureCacheMs = { found: 3_600_000, missing: 300_000 }

/** Milliseconds for which the server of a picture may be silent. */
export const pictureIdleMs = 5_000
