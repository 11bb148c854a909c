// Limits of backups.

/** Base-2 logarithm of scrypt's cost. A forged header could otherwise exhaust the reader's memory. */
export const maxScryptLog = 20

/** Characters of a passphrase, at least: backups are attacked offline. */
export const minPassphraseLength = 12

/** Digests per list in the archive. It bounds what a reader holds in memory. */
export const digestsPerList = 1_000

/** Bytes of rows per entry, and so in memory. */
export const portionBytes = 4 * 1024 * 1024

/** Faults of a check that are listed individually. */
export const maxListedFaults = 10

/** Bytes of the manifest. That of 131 tables has 50 kB. */
export const maxManifestBytes = 4 * 1024 * 1024

/** Bytes of the summary, which a reader parses as a whole: the names of half a million absent files. */
export const maxSummaryBytes = 64 * 1024 * 1024

/** Bytes of a list of digests: 1,000 lines of a digest and a name. */
export const maxDigestsBytes = 256 * 1024

/** Lists and objects in each other in the manifest and the summary. They have 4; a parser needs memory for each. */
export const maxJsonDepth = 8

/** Characters of a name from a backup that an error shows. */
export const maxShownCharacters = 120

/** Bytes that a rehearsal needs besides twice the database: the log of its PostgreSQL has up to 1 GiB. */
export const rehearsalReserveBytes = 1024 ** 3
