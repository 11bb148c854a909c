// Limits of calls.

/** Checks without a heartbeat after which the holder is dead, stopped, or without its database. */
export const maxSilentChecks = 6

/** Milliseconds for current calls when the process ends. */
export const closeGraceMs = 10_000

/** Milliseconds between recoveries after a crash, and between retries when a port is in use. */
export const recoveryIntervalMs = 5_000

/** Milliseconds between writes of timelines. */
export const timelineFlushMs = 1_000

/** Timeout of lease queries, in milliseconds; two fit into the time that a heartbeat holds the lease. */
export const leaseTimeoutMs = 2_000

/** Milliseconds between checks of registrations, in addition to those on change. */
export const registrationCheckMs = 5_000

/** Recordings per statement. */
export const uploadBatchSize = 500

/**
 * Age of the last write, in milliseconds, at least. A recorder writes every second; it may hang or lack its
 * database.
 */
export const minIdleRecordingMs = 5_000

/** Consecutive failures after which the store counts as unavailable; each may take 20 s. */
export const maxUploadFailures = 5

/** Timeline entries per call; further ones are dropped, but for those of its end. */
export const maxTimelineEntries = 400

/** Characters per timeline entry; the rest is dropped. */
export const maxTimelineEntryLength = 500

/** Trunks tried per call. A caller hangs up long before more have failed. */
export const maxTrunksPerCall = 4

/** Ring timeout of browsers and of telephones, in seconds. */
export const ringTimeoutSeconds = { people: 30, trunk: 60, dial: 30 }

/** Longest time of a call that a program dials, unless it asks for another. */
export const maxChildSeconds = 14_400

/** Longest time of a call to a number that runs a program: one that waits for ever would cost for ever. */
export const maxProgramSeconds = 14_400

/** Calls that may be dialled one from the other. */
export const maxCallDepth = 5

/** Longest entry of a code, in seconds. With the end of the call it stays within one charged minute. */
export const maxCodeEntrySeconds = 58

/** Milliseconds between heartbeats. A timer ends calls whose held minutes run out before the next one. */
export const callHeartbeatMs = 5_000

/** Seconds before the start of a minute when it is held: two heartbeats. */
export const holdAheadSeconds = 10

/** Seconds without a heartbeat after which an answered call is abandoned. Its own process ends it after 60 s. */
export const abandonedCallSeconds = 120

/** Milliseconds between heartbeats of the lease's holder, and between the checks of the other processes. */
export const leaseHeartbeatMs = 1_000

/** Milliseconds for which a heartbeat holds the lease. Shorter than the checks before a takeover. */
export const leaseHeldMs = 5_000

/** Calls or dialogs that one recovery step closes: a short transaction each. */
export const recoveryBatchSize = 50

/** Milliseconds for which a call continues without persistence. Shorter than the time until others close the call. */
export const maxUnpersistedMs = 60_000

/** Seconds that a platform call may wait. A later call would surprise its callee. */
export const maxQueuedSeconds = 60

/** Contacts whose calls a search by name finds. */
export const maxSearchedContacts = 50

/** Delay of buffers and packetisation, which no statistics contain, in milliseconds. The voice SDK has the same figure. */
export const fixedDelayMs = 60

/** Calls of the API that an account may begin in a second, unless an operator sets another limit. */
export const callsPerSecond = 5

/** Calls of an account that may wait to be placed. */
export const maxWaitingCalls = 1_000

/** Calls that one statement claims for placing. */
export const maxPlacedPerClaim = 100

/** Milliseconds until calls that wait for a free call of their account are looked at again. */
export const waitingRetryMs = 1_000

/** Seconds for which a call of the API may ring. */
export const [minRingSeconds, maxRingSeconds] = [5, 600]

/** Seconds that a call of the API may talk, at most and by default. */
export const [maxCallSeconds, ordinaryCallSeconds] = [86_400, 14_400]

/** Headers of its own that a call of the API may carry. */
export const maxCallHeaders = 20

/** Commands that one statement claims. */
export const maxCommandsPerClaim = 100

/** Milliseconds for which a request waits for the outcome of its command, and between its looks. */
export const [commandWaitMs, commandPollMs] = [3_000, 50]

/** Milliseconds for the answer to a status callback. */
export const callbackTimeoutMs = 8_000

/** Bytes read of the answer to a status callback. */
export const maxCallbackAnswerBytes = 1_024

/** Seconds between the attempts of a status callback. Afterwards it is given up. */
export const callbackPauses = [5, 30, 300] as const

/** Seconds between the attempts to store the report of a stream, while the database cannot be reached. */
export const streamReportPauses = [1, 2, 4, 8, 15] as const

/** Seconds after the end of a call when the end of its streams is reported by others: `streamReportPauses` are over. */
export const leftStreamSeconds = 60

/** Bytes of a document of a program. */
export const maxProgramDocumentBytes = 65_536

/** Verbs of a document, with those inside others. */
export const maxProgramVerbs = 200

/** Depth of the JSON of a document, such as of tags in it. */
export const maxProgramDepth = 16

/** Notes of a document, such as of attributes that are not known; further ones are dropped. */
export const maxProgramNotes = 50

/** Size of the tags of a call as JSON. */
export const maxTagBytes = 4_096

/** Milliseconds until a program is connected. */
export const programConnectMs = 3_000

/** Milliseconds before a request is repeated. */
export const programRetryMs = 250

/** Milliseconds for the result that is sent after the end of a call. */
export const lastProgramRequestMs = 8_000

/** Documents of a call. */
export const maxProgramDocuments = 1_000

/** Documents in a row without sound, input or time. */
export const maxIdleProgramDocuments = 50

/** Steps of a program that its story has, and characters of each of their addresses. */
export const [maxProgramSteps, maxProgramStepLength] = [1_000, 500]

/** Keys of a party that wait for a `gather`. */
export const maxWaitingKeys = 64

/** Keys that a `gather` without `num_digits` takes. */
export const maxGatheredKeys = 1_000

/** Seconds of waiting for keys, and of silence that ends a recording, unless the verb states them. */
export const verbTimeoutSeconds = 5

/** Milliseconds below which a `gather` has not waited: for loops of documents that take no time. */
export const idleGatherMs = 20

/** Milliseconds of sound above the noise that count as speech in a recording. */
export const leastSpeechMs = 60

/** Milliseconds after which a program goes on without a sound that is not ready. */
export const maxSoundPreparationMs = 3_000

/** Repetitions of a sound that has no end. */
export const maxSoundLoops = 1_000

/** Milliseconds for an answer of a program that is no application, by the shape of its requests. */
export const ordinaryProgramMs = { native: 8_000, twilio: 15_000 } as const

/** Bytes of a sound that a program names by URL, or that is uploaded as a clip: two minutes of stereo at 44.1 kHz. */
export const maxSoundBytes = 20_971_520

/** Octets of a converted sound, 44 minutes: the media engine reads a whole file. */
export const maxConvertedBytes = 20_971_520

/** Milliseconds until a sound can be played. A longer silence is taken for a broken call. */
export const soundReadyMs = 3_000

/** Milliseconds of a fetch. It goes on for later calls after `soundReadyMs`. */
export const soundFetchMs = 15_000

/** Milliseconds of a conversion: an MP3 file of 44 minutes takes less. */
export const soundConversionMs = 20_000

/** Milliseconds after which the thread that converts ends without work, and frees the tables of the MP3 decoder. */
export const converterIdleMs = 30_000

/** Seconds for which a sound without Cache-Control is fresh, and the longest time. */
export const soundFreshSeconds = { default: 300, longest: 2_592_000 }

/** Bytes of the cache of sounds, and of one account within it: no account can displace the sounds of all others. */
export const soundCacheBytes = { total: 1_073_741_824, perAccount: 268_435_456 }

/** Milliseconds after its last use during which a sound stays: a player may be about to open it. */
export const soundGraceMs = 30_000

/** Milliseconds after its last use after which a sound is deleted: 30 days. */
export const soundRetentionMs = 2_592_000_000

/** Sounds that are fetched and converted at a time, each with a file of up to 20 MiB. Others wait, accounts in turn. */
export const soundsAtATime = { perKey: 16, total: 64, queue: { perKey: 100, total: 1_000 } }

/** Characters of a text that is spoken: five minutes. */
export const maxSpokenCharacters = 4_096

/** Milliseconds of a process that speaks. The longest text takes 0.2 s. */
export const speechProcessMs = 5_000

/** Texts that wait to be spoken. More would be too late for their calls. */
export const speechQueue = { perKey: 100, total: 1_000 }

/** Clips of an account: each is a row of a list. */
export const maxClips = 1_000

/** Chunks of a WAV file before its samples: more than any program writes. */
export const maxWavChunks = 1_000

/** Faults of a usable MP3 file beyond one for each frame. */
export const maxMp3Faults = 32

/** Positions between two input samples for which weights are stored: an error of -50 dB, less than that of G.711. */
export const maxResamplerPhases = 512

/** Milliseconds between two updates of the time of a file in the cache. */
export const soundTouchMs = 60_000

/** Bytes of a text that is spoken as tones: 50 s. */
export const maxToneBytes = 1_024
