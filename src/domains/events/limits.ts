// Limits of the event log.

/** Events that a page with a filter examines. */
export const examinedEvents = 10_000

/** Events that are examined around one moment to find those of a subject. */
export const examinedAround = 2_000

/** Events of one subject. */
export const maxEventsOfSubject = 100

/** Milliseconds before and after a moment within which its event was recorded. */
export const around = { before: 1_000, after: 3_000 }

/** Milliseconds by which the id of an event may differ from its time: some ids are made outside the database. */
export const clockSkewMs = 10_000
