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
