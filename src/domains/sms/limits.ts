// Limits of SMS.

/** Bytes of a carrier's callback, which may report many messages. */
export const maxCallbackBytes = 1024 * 1024

/** Characters of an id of a carrier: an index has it. */
export const maxCarrierId = 200

/** Characters of a number or a name in what a carrier delivers. */
export const maxCarrierAddress = 100

/** Characters of a code of an error in a receipt. */
export const maxCarrierCode = 60

/** Longest text of a message, in characters. */
export const maxTextLength = 1600

/** Files of a message. */
export const maxMediaFiles = 10

/** Bytes of the files of a message that we send, together. */
export const maxMediaBytes = 5 * 1024 * 1024

/** Milliseconds for fetching the files of a message, while its client waits. */
export const maxMediaFetchMs = 30_000

/** Characters of the address of a file. */
export const maxMediaUrlLength = 2_000

/** Attempts to fetch a file of an inbound message: about an hour. */
export const maxMediaAttempts = 12

/** Furthest send time, in milliseconds ahead: a leap year. */
export const maxScheduleAheadMs = 366 * 86_400_000

/** Channels of an account that are searched one by one for a contact. */
export const maxSearchedChannels = 1_000

/** Opt-outs that an import stores at a time: each time counts those of the account. */
export const optOutChunkSize = 5_000

/** Bytes of a line of an import. A longer one is damaged, and would be held in memory. */
export const maxOptOutLine = 10_000

/** Characters of the note of an opt-out. */
export const maxOptOutNote = 500

/** Faults that the text of a refused import names; its fields list more. */
export const maxNamedFaults = 5

/** Sending channels cached by account and number. Bounds memory. */
export const maxCachedChannels = 20_000

/** Setup ids cached by channel. Bounds memory. */
export const maxCachedSetupIds = 100_000

/** Decisions remembered as persisted. Bounds memory. */
export const maxPersistedDecisionIds = 10_000

/** Milliseconds between log lines for refusals of one status. */
export const refusalLogIntervalMs = 10_000

/** Milliseconds for which a refusal is shown as the last error of a bound connection. */
export const lastErrorTtlMs = 60_000

/** Stored attempts of a message: one that a carrier throttles for two days has thousands. */
export const maxStoredAttempts = 100

/** Seconds for which a part of unknown fate waits for a receipt on a route with the policy `hold`. */
export const receiptHoldSeconds = 60

/** Consecutive failures after which a connection is avoided. */
export const maxConnectionFailures = 5

/** Milliseconds for which a failing connection is avoided. */
export const avoidConnectionMs = 30_000

/** Milliseconds after which a pending part counts as lost with its lease: another process has the message. */
export const maxPendingCommitMs = 60_000

/** Longest wait for a commit, in milliseconds; the carrier waits as well. */
export const maxCommitWaitMs = 1_000

/** Congestion refusals after which another connection is tried, if there is one. */
export const maxCongestionTries = 5

/** Longest wait for window capacity before a message returns to the queue, in milliseconds. */
export const maxCapacityWaitMs = 10_000

/** Messages that wait for one connection: more would block claims for other connections. */
export const maxWaitingPerConnection = 64

/** Longest wait for a sender's rate limit before its message returns to the queue, in seconds. */
export const maxSenderPauseSeconds = 1

/** Shortest retry delay while a carrier is down, in seconds; the delay is a quarter of the downtime. */
export const minDownRetrySeconds = 1

/** Longest retry delay while a carrier is down, in seconds. */
export const maxDownRetrySeconds = 10

/** Pairs with deferred messages. Beyond it, idle pairs are forgotten and may be overtaken. */
export const maxDeferredPairs = 50_000

/** Milliseconds after which a deferred message that has not come back is checked: does its job still exist? */
export const lostMessageMs = 30_000

/** Delay after the blocking message, in milliseconds. */
export const pairDelayMs = 20

/** Upper limit of that delay, in milliseconds. It bounds the wait when the platform's clock is changed. */
export const maxPairDelayMs = 1_000

/** Extra delay for each message ahead, in milliseconds: a long queue returns in order and not all at once. */
export const pairSpacingMs = 2

/** Upper limit of that extra delay, in milliseconds. */
export const maxPairSpacingMs = 10_000

/** Submissions that run at once in this process. */
export const maxSubmissions = 512

/** Messages that wait in memory for their turn, in all, at any pace; each has at most a few kilobytes. */
export const maxWaitingInMemory = 1_024

/** Seconds for which messages may wait in memory at the pace of late: far less than `maxMemoryWaitMs`. */
export const memorySeconds = 4

/** Messages that wait in memory at the highest pace. */
export const maxWaitingAtPace = 16_384

/** Milliseconds over which the pace is measured. */
export const paceWindowMs = 250

/** Claimed messages that wait in memory, at least: some are at hand when capacity returns, whatever else waits. */
export const minClaimedInMemory = 16

/** Milliseconds in memory after which a message is started without regard to capacity. Without any, the submit defers
 *  it, and it leaves the memory of this process. */
export const maxMemoryWaitMs = 15_000

/** Claims of a batch after which its messages get jobs of their own: one of them may end the process each time. */
export const maxBatchAttempts = 3

/** Messages of one request. A statement with more is no faster. */
export const maxSendingMessages = 1_000

/** Bytes of a request that sends many messages: a thousand texts of full length, escaped, fit. */
export const maxSendingBytes = 8 * 1024 * 1024

/** Requests with many messages that are read and accepted at a time, of an account and in all, and those that wait. A
 *  request takes some 2 MB of memory. */
export const sendingRequests = { perKey: 2, total: 4, queue: { perKey: 16, total: 128 } }

/** Messages of keys with a daily spend limit that have a transaction at a time, of an account and in all, and those that wait.
 *  Those of one account would wait for each other with their connections. */
export const countedMessages = { perKey: 2, total: 4, queue: { perKey: 1_000, total: 4_000 } }

/** Seconds after which a job of a paused sending that was claimed meanwhile checks again, if it was not woken before. */
export const pausedCheckSeconds = 30

/** Seconds between searches for sendings that have ended. */
export const sendingCheckSeconds = 10

/** Running sendings that a search examines: at most a thousand messages each. */
export const checkedSendings = 50

/** Seconds after which the responses of a link have certainly arrived. */
export const linkResponseSeconds = 10

/** Delay before the first retry of a receipt without a part, in milliseconds: submit and receipt race. */
export const earlyReceiptDelayMs = 300

/** Parts examined for one id of a carrier: carriers reuse ids. */
export const maxPartsPerCarrierId = 4

/** Unparsed receipts kept of each connection: the newest ones. */
export const maxUnparsedReceipts = 100

/** Days for which unparsed receipts are kept: they contain numbers. */
export const unparsedReceiptDays = 30

/** Digits that identify a handset, at least. */
export const minHandsetDigits = 7

/** Seconds for which receipts may still arrive after the validity has ended. */
export const receiptGraceSeconds = 3_600

/** Seconds for which a part may wait for its receipt at any connection: the longest validity of seven days, and more. */
export const longestReceiptSeconds = 8 * 86_400

/** Seconds after its submit from which on a carrier is asked for a part without a final receipt. */
export const firstQuerySeconds = 900

/** Seconds between questions for one part, at most: they double from 15 minutes on. */
export const maxQuerySeconds = 86_400

/** Seconds of send times that a search for such parts covers. */
export const querySearchSeconds = 6 * 3_600

/** Searches of a run: after an outage of the workers, a run covers all parts that may wait. */
export const maxQuerySearches = 33

/** Parts of a connection that wait for a question. Further ones are not asked for. */
export const maxQueriedParts = 10_000

/** The same for one account. */
export const maxQueriedPartsOfAccount = 2_000

/** Milliseconds between looks for parts that are due for a question. */
export const queryPollMs = 5_000

/** Parts of a connection that a look asks for, one after the other. */
export const maxQueriesPerLook = 50

/** Milliseconds between two questions to a carrier, at least. */
export const minQueryIntervalMs = 100

/** Share of the pace of a carrier that questions may take. */
export const queryShare = 0.1

/** Seconds before the next attempt when a carrier had no capacity for a question. */
export const queryRetrySeconds = 30

/** Refusals in a row after which a carrier refuses all questions. */
export const maxQueryRefusals = 10

/** Seconds for which it is then not asked. */
export const refusedQueriesSeconds = 86_400

/** Questions in a row without a response after which the same holds: some carriers break the connection instead. */
export const maxUnansweredQueries = 3

/** Waiting messages per page. */
export const waitingPageSize = 1_000

/** Pages per transaction. */
export const maxWaitingPages = 20

/**
 * First attempt at which a receipt may be matched to a part of unknown fate: after 15 s. A delayed response has
 * arrived by then, and a message held for a minute has not been resubmitted yet.
 */
export const firstAdoptingAttempt = 5

/**
 * Messages of one batch, and of the statement that accepts it. PostgreSQL moves the payload of more than some 85 out of its row. Two
 * batches of half the size cost it 3 µs more for each message.
 */
export const maxBatchMessages = 128

/** Seconds of a lease of a carrier's slot, by the real clock: four renewals. */
export const carrierLeaseSeconds = 12

/** Milliseconds between renewals. */
export const carrierLeaseRenewMs = 3_000

/** Milliseconds before its end by our clock in which a lease no longer counts: nothing is under way when another begins. */
export const carrierLeaseMarginMs = 1_500

/** Milliseconds after which a statement about leases is abandoned, so that the next one comes in time. */
export const carrierLeaseTimeoutMs = 3_000

/** Milliseconds after another process was connected in which a carrier may still count its links. */
export const formerLinkMs = 60_000

/** Milliseconds for which a slot that is given up waits for its submits under way. */
export const slotDrainMs = 15_000

/** Milliseconds without a link after which a worker gives the slots of a connection up, if another worker may have them. */
export const unreachableMs = 30_000

/** Milliseconds between two workers' giving up the slots of one connection: the carrier itself may be down. */
export const giveUpIntervalMs = 60_000

/** Milliseconds for which the worker that gave a slot up leaves it to others: two renewals. */
export const giveUpGraceMs = 6_000

/** Milliseconds after the return of the database for which lost leases are left to their former owners: an attempt that
 *  hangs, and two renewals. */
export const formerOwnersMs = 9_000

/** Seconds before a submit is retried that met no valid lease. */
export const linkRetrySeconds = 0.5

/** Job that ends the wait of a message with a validity of its own. */
export const expireKind = 'sms.expire'
