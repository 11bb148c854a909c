// Limits of XMPP numbers.

/** Milliseconds for the upload of a file. */
export const uploadTimeoutMs = 60_000

/** Bytes of a picture. Most servers limit a stanza to 256 KiB, and base64 adds a third. */
export const maxPictureBytes = 180_000

/** Messages per archive query. */
export const archivePageSize = 50

/** Characters of an id, because ids are indexed. Longer or missing ids are replaced by a digest. */
export const maxMessageIdLength = 200

/** Milliseconds for which the calibration of a method stays valid. */
export const calibrationTtlMs = 600_000

/**
 * Milliseconds before the newest message from which the archive is read again: clocks differ, persistence takes
 * time.
 */
export const archiveOverlapMs = 300_000

/** Milliseconds before the retry of an archive that did not answer. */
export const archiveRetryMs = 2_000

/** Subscribers to the presence of a component's number. */
export const maxWatchers = 1_000

/** Groups of one number. */
export const maxRooms = 500

/** Occupants or members remembered per group. */
export const maxOccupants = 5_000

/** Milliseconds for the join of a group. */
export const joinTimeoutMs = 15_000

/** Characters of an address. Longer ones are rejected: they exceed the index row limit. */
export const maxJidLength = 1_000

/** Services of a server that are queried. */
export const maxDiscoveredServices = 30

/** Milliseconds before the first retry of an event that could not be persisted. */
export const firstPersistRetryMs = 200

/** Longest delay between such retries, in milliseconds. */
export const maxPersistRetryMs = 5_000

/** Checks of one request that run at a time, so that a server does not throttle the number. */
export const concurrentChecks = 8
