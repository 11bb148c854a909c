// Limits of the sandbox.

/** Milliseconds between looks for the effect of a triggered event. */
export const triggerPollMs = 100

/** Milliseconds that a trigger waits for its effect; the sandbox acts within a second. */
export const triggerTimeoutMs = 10_000

/** Seconds by which the clock may be ahead: a century, far within the range of every time that is stored. */
export const maxClockOffsetSeconds = 3_153_600_000

/** Bytes of a file that a handset sends; the simulator stores no larger one. */
export const maxHandsetFileBytes = 33_554_432

/** Milliseconds for the import of a file: its request waits for it. */
export const fileImportTimeoutMs = 10_000

/** Milliseconds by which successive polls overlap: transactions open at the last poll may have committed since. */
export const provisionOverlapMs = 60_000

/** Numbers that one request to the simulator names. */
export const numbersPerProvision = 1_000

/** Milliseconds between polls. They bound the delay for a number bought by another process. */
export const provisionPollMs = 5_000

/** Milliseconds within which the simulator answers. */
export const simulatorTimeoutMs = 15_000
