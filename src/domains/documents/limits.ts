// Limits of documents.

/** Documents of one account. */
export const maxDocuments = 1000

/** Bytes of all documents of one account: they are stored in the database. */
export const maxDocumentBytes = 256 * 1024 * 1024

/** Bytes of a file that are encrypted, stored and read at once. A download of any size holds no more in memory. */
export const documentPartBytes = 1024 * 1024
