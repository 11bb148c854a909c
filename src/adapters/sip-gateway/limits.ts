// Limits of the SIP gateway.

/** Milliseconds between retries of what must be persisted. */
export const maxRetryMs = 60_000

/** Milliseconds between pings: proxies close connections that are silent for a minute. */
export const browserPingMs = 25_000

/**
 * Connections of one address without a registration. The limit lets a whole office reconnect at once after a restart.
 */
export const maxUnregistered = 200

/** Seconds of a registration. Default for a browser that names none. */
export const maxRegistrationSeconds = 600

/** Milliseconds between heartbeats of a call, which extend the hold on the balance. */
export const heartbeatMs = 5_000

/** Milliseconds before its longest time at which a call ends, so that no further minute of it begins. */
export const endMarginMs = 200

/** Failed heartbeats before the call is cut: one minute. */
export const maxMissedHeartbeats = 12

/** Keys of a leg that wait to be sent. */
export const maxPendingKeys = 64

/** Headers of an INVITE that are passed on. */
export const maxExtraHeaders = 20

/** Milliseconds that the ends of the last calls may take to be persisted. */
export const maxPersistMs = 5_000

/** Entries that wait until the call has an id; further ones are lost. */
export const maxWaitingEntries = 50

/** Redirections of one attempt that are followed, so that two proxies of a carrier cannot send it to and fro. */
export const maxRedirections = 4

/** Peers of one INVITE whose early answers are stored: a proxy forks to a few. */
export const maxForks = 32

/** Host names of a session description that are resolved: one each of the session and its audio. */
export const maxHostNames = 2

/** Milliseconds of silence after which a trunk is skipped. */
export const trunkTimeoutMs = 4_000

/** Milliseconds to wait for the end of a registration. */
export const unregisterMs = 2_000

/** Seconds that the telephone of an echo test may ring. */
export const echoRingSeconds = 20

/** Milliseconds for which an echo test listens. */
export const echoListenMs = 3_000

/** Packets of an echo, at least: a third of those in 3 s, so an echo that starts late still passes. */
export const minEchoPackets = 50

/** Milliseconds that a disconnected browser may take to return. Its calls continue meanwhile. */
export const reconnectMs = 30_000

/** Milliseconds for which verbs wait until a browser that is answered can hear. */
export const maxConnectionMs = 3_000
