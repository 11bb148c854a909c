// Limits of webhooks and their delivery.

/** Concurrent workers of failing receivers; the others wait in the database. */
export const maxFailingWorkers = 600

/** Leases claimed or loaded by one statement. */
export const leaseBatchSize = 256

/** Deliveries in memory, over all endpoints. */
export const maxLoadedDeliveries = 16_384

/** Deliveries that each endpoint may have in memory, at least. */
export const minLoadedPerEndpoint = 4

/** Milliseconds between looks for due deliveries and for accounts with a backlog. */
export const deliveryPollMs = 500

/** The same for an idle process that is woken when others record events. */
export const idleDeliveryPollMs = 3_000

/**
 * Milliseconds for which the worker of a quick receiver stays idle, with its lease. A receiver with an event every few
 * seconds is then claimed once and not for each event: a claim and its commit cost more than loading and storing it.
 */
export const keepIdleWorkerMs = 30_000

/** Workers beyond which the longest idle ones are released. Bounds memory, some 4 kB each, and extensions of leases. */
export const maxIdleWorkers = 2_000

/** Deliveries created by one statement: some 20 ms, so other accounts wait no longer than that. */
export const fanOutBatchSize = 1_000

/** Seconds of its rate that an idle account may use at once. */
export const fanOutBurstSeconds = 10

/** Waiting accounts known to this process; the others are found as these finish. */
export const maxFanOutAccounts = 1_000

/** Concurrent calls to one endpoint. */
export const maxCallsPerEndpoint = 32

/** Milliseconds within which a response makes a receiver quick. */
export const quickResponseMs = 1_000

/** Milliseconds for which a head may be overdue. */
export const headGraceMs = 30_000

/** Bytes of a response that are read. Only an excerpt is stored. */
export const maxResponseBytes = 65_536

/** Characters of a response that are stored. */
export const maxExcerptLength = 1_000

/** The same for a failed attempt: people read the page of the fault. */
export const maxFailedExcerptLength = 4_000

/** Response headers that are stored of a failed attempt. */
export const maxStoredHeaders = 20

/** Characters of a stored header name or value. */
export const maxHeaderLength = 200

/** Longest accepted Retry-After, in seconds. */
export const maxRetryAfterSeconds = 43_200

/** Events per run of a replay, so that a long window delays no other job. */
export const replayPageSize = 1_000

/** Milliseconds for which the totals of a scrape serve concurrent scrapes and other metrics. */
export const totalsCacheMs = 5_000

/** Webhooks that an operator sees at once. */
export const maxFailingShown = 200

/** Rows that a total counts. */
export const maxCountedRows = 100_000

/** Webhooks with pending deliveries that are asked for their oldest one. */
export const maxOldestChecked = 10_000

/** Deliveries of a few events that are shown together. */
export const maxDeliveriesShown = 200

/** Webhooks of an account, deleted ones included, that the deliveries of an event are looked up for. */
export const maxWebhooksOfEvent = 1_000

/** Bytes of a test's own payload as JSON. */
export const maxTestPayloadBytes = 65_536

/** Deliveries that one page examines for a filter without an index. */
export const maxExaminedDeliveries = 5_000

/** Webhooks of one address whose deliveries, or statistics, are read together. */
export const maxMergedWebhooks = 100

/** Most milliseconds between the time of an event and that of its id. */
export const eventIdSlackMs = 60_000

/** Milliseconds after a rotation in which a process may still sign with the secrets of before. */
export const secretSlackMs = 60_000

/** Milliseconds for which the previous secret signs too. */
export const secretOverlapMs = 86_400_000

/** Events that the count of a replay finds. */
export const maxReplayCount = 10_000

/** Events that the count of a replay examines. */
export const maxReplayExamined = 100_000

/** Milliseconds between writes of the statistics. */
export const statsFlushMs = 10_000

/** Hours of webhooks whose statistics wait for the next write. Bounds memory: about 400 bytes each. */
export const maxWaitingStats = 20_000

/** Days of statistics by step. */
export const maxStatsDays = { hour: 31, day: 366 }

/** Rows of statistics deleted at once. */
export const statsPurgeSize = 5_000

/** Headers of its own that a webhook sends. */
export const maxRequestHeaders = 10

/** Characters of one of their values: tokens have some 2,000. */
export const maxRequestHeaderValue = 4_096

/** Characters of their names and values together. Receivers accept 8 KiB of headers, ours included. */
export const maxRequestHeadersLength = 7_168

/** Characters of a user name, or of a password, of Basic credentials. */
export const maxBasicAuthLength = 255

/** Characters of a value from which on it is hidden in responses: shorter ones would hide ordinary words. */
export const minHiddenLength = 6
