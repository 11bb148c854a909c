// Limits of an installation's processes.

/** Seconds without a heartbeat after which a process counts as dead: ten heartbeats. */
export const heartbeatTimeoutSeconds = 20

/** Milliseconds between heartbeats of a process. A starting one sees by them that a process with other settings lives. */
export const processHeartbeatMs = 2_000

/** Milliseconds between looks for the end of other processes. */
export const processPollMs = 500

/** Milliseconds by which the clocks of a process and of the database may differ. */
export const maxClockSkewMs = 2_000
