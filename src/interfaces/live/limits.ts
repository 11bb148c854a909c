// Limits of the live feed.

/** Open sockets of one session, and of this process. */
export const socketLimits = { perKey: 10, total: 1_000 }

/** Sockets of one account in this process, subscribed or not. */
export const maxSocketsOfAccount = 200

/** Concurrent reads of events that a page missed. Those of one account run one after the other. */
export const resumeLimits = { perKey: 1, total: 3 }

/** Bytes of a frame from the page. */
export const maxFrameBytes = 4_096

/** Topics of a page. */
export const maxTopics = 50

/** Bytes that may wait for a slow connection. */
export const maxBufferedBytes = 1_048_576

/** Bytes that wait for a connection at most: beyond, it is closed. An event may be 1 MiB itself. */
export const maxUnreadBytes = 4 * maxBufferedBytes

/** Subscriptions of a page that wait to be checked. */
export const maxPendingChanges = 20

/** Events that may wait for a page that does not keep up. Beyond, it must load again what it shows. */
export const maxQueuedEvents = 1_000

/** Missed events that are sent after a reconnect. Beyond, the page must load again what it shows. */
export const maxResumedEvents = 5_000

/**
 * Milliseconds before the `since` of a page from which events are sent. An event may become visible that much later
 * than its id says.
 */
export const lateEventMs = 2_000

/** Events of a page of missed events. */
export const resumePageSize = 250

/** Milliseconds between looks for events that other processes recorded, while a page watches. */
export const pollMs = 150

/**
 * Milliseconds by which reads look back. Events get their id when they are written and become visible when their
 * transaction commits. Each look reads the last second again, and once a second the last ten.
 */
export const lookback = { eachLookMs: 1_000, wholeMs: 10_000, wholeEveryMs: 1_000 }

/** Events of one account that one statement reads. */
export const eventPageSize = 500

/** Milliseconds between comparisons of balances and delivery attempts, while a page watches them. */
export const statePollMs = 500

/** Deliveries of a webhook that are compared: the newest, and the retries that are due next. */
export const comparedDeliveries = 50

/** Webhooks of one account whose deliveries are followed. */
export const maxFollowedWebhooks = 50

/** Webhooks whose deliveries one look reads, of all accounts. */
export const maxReadWebhooks = 10

/** Topics of one page by kind: a page shows one webhook or conversation, and two while it changes. */
export const maxTopicsOfKind = { plain: 20, webhook: 5, conversation: 5 }

/** Days for which events outlive their deliveries: see deleteOldEvents of the webhooks. */
export const extraEventDays = 7

/** Milliseconds between heads, which show a page whether it has all events. */
export const headMs = 15_000

/** Milliseconds within which a page must subscribe. */
export const subscribeWithinMs = 30_000

/** Seconds after which a presence ends that the page does not repeat. */
export const presenceSeconds = 12

/** Milliseconds between writes of presences: bounds what pages that report without end cost. */
export const presenceFlushMs = 100

/** People of one presence frame. */
export const maxPeople = 50

/** Minutes after which unused rows of presences are deleted. */
export const presenceRowMinutes = 5

/** Milliseconds between looks for changed numbers of the sidebar. */
export const countPollMs = 1_000

/** Highest number of the sidebar. */
export const maxCounted = 1_000
