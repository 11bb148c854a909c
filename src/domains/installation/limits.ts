// Limits of an installation's processes.

/** Seconds without a heartbeat after which a process counts as dead: four heartbeats. */
export const heartbeatTimeoutSeconds = 20

/** Milliseconds between heartbeats of a process. */
export const processHeartbeatMs = 5_000

/** Milliseconds between looks for the end of other processes. */
export const processPollMs = 500
