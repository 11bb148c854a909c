// Limits of the messaging app.

/** Distinct numeric codes of networks that become labels; all others are `other`. */
export const maxCodeLabels = 100

/** Bytes of a callback; networks send many events in one request. */
export const maxCallbackBytes = 4 * 1024 * 1024

/** Milliseconds between reconciliations; each one extends the leases. */
export const reconcileIntervalMs = 2_500

/** Milliseconds between pings of each channel. */
export const pingIntervalMs = 5_000

/** Failed pings in a row after which a channel is disconnected. */
export const maxMissedPings = 2

/** Age of the last successful ping after which a channel is disconnected, in milliseconds. */
export const maxPingAgeMs = 10_000

/** Milliseconds after which a connected channel is steady. */
export const steadyConnectionMs = 600_000

/** Hours in which the phone of a new channel must be paired: until then nothing proves its number. */
export const unpairedChannelHours = 24

/** Bytes of a picture. */
export const maxPictureBytes = 5 * 1024 * 1024

/** Numbers per network request. Few, so that a single check does not wait long behind a batch. */
export const checkChunkSize = 5

/** Milliseconds that a network may take over a check once its slot has come; a connector answers within 10 s. */
export const checkTimeoutMs = 10_000

/** Longest wait of a check for its slot at the network, in milliseconds. */
export const maxCheckWaitMs = 20_000

/** Files that one statement expires. */
export const retentionBatchSize = 500

/** Files that may wait for deletion from the store. Above it, expiry pauses for `retentionPauseSeconds`. */
export const maxPendingDeletions = 5_000

/** Seconds for which expiry pauses. */
export const retentionPauseSeconds = 10

/** Longest fetch of a file, in milliseconds. */
export const maxFetchMs = 86_400_000

/** Milliseconds that a download waits for the fetch: a webhook's receiver may request a file at once. */
export const downloadWaitMs = 10_000

/** Milliseconds between looks for the end of a fetch. */
export const downloadPollMs = 250

/** Longest silence of a source during a fetch, in milliseconds. */
export const maxSourceSilenceMs = 20_000

/** Milliseconds between polls for answers from other processes; one poll serves all waiters. */
export const answerPollMs = 150

/** Seconds after which a job that a connected network keeps postponing is given up. */
export const maxSnoozeSeconds = 86_400

/** Seconds for which a network may still report a message whose fate is unknown. */
export const unknownFateSeconds = 5

/** Channels cached by account and number. Bounds memory. */
export const maxCachedSenders = 20_000

/** Milliseconds that a request waits for a network to delete a message. */
export const deletionWaitMs = 10_000

/** Characters shown of each dead letter. */
export const maxShownContentLength = 4_000

/** Attempts to store an event that the database rejects. */
export const maxStoreTries = 3

/** Milliseconds between those attempts. */
export const storeRetryMs = 200

/** Dead letters per channel. Beyond it events are not acknowledged, so the network keeps redelivering them. */
export const maxDeadLettersPerChannel = 1_000

/** Milliseconds that a network may take over a group operation while its client waits. */
export const groupOperationWaitMs = 20_000

/**
 * Milliseconds to which times of checks are rounded up. It bounds the entries per minute: nothing is dropped early,
 * and at most 0.8 % of a minute's allowance late.
 */
export const checkGrainMs = 500

/**
 * Concurrent fetches per account and in all: fewer than a connection's concurrent jobs, so that messages continue.
 * A fetch ends after `longestMs` milliseconds, and is tried again.
 */
export const fetchLimits = { each: 16, all: 128, longestMs: 120_000 }

/** Seconds of a connection's lease, by the real clock: six reconciliations. */
export const connectionLeaseSeconds = 15

/**
 * Bounds of the snooze of a job whose channel is down, in seconds. It ends early when the channel connects or is
 * deleted.
 */
export const downSnoozeSeconds = { least: 15, most: 600 }

/** Characters of the structured content of a message, as JSON. Larger content is left out, and its text remains. */
export const maxContentLength = 131_072

/** Levels of the structured content of a message. Deeper values are left out. */
export const maxContentDepth = 16

/** Characters shown of a quoted message. */
export const maxQuotedLength = 300

/** Bytes of an uploaded file. */
export const maxUploadBytes = 64 * 1024 * 1024

/** Hours for which an uploaded file can be sent. */
export const uploadHours = 24

/** Uploaded files that are deleted in one transaction. */
export const uploadBatchSize = 500
