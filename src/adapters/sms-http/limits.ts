// Limits of SMS carriers over HTTP.

/** Requests at a time, by default. */
export const defaultWindow = 10

/** Milliseconds for an answer, by default: from the connection to the last byte. */
export const defaultResponseMs = 10_000

/** Bytes of an answer that are read. A provider answers a submit with a few hundred. */
export const maxAnswerBytes = 65_536

/** Failures in a row after which a carrier is down. */
export const maxFailures = 3

/** Milliseconds between the parts that may try a carrier that is down. */
export const probeIntervalMs = 10_000

/** Milliseconds before a provider that refused our credentials is tried again: it may block our address. */
export const deniedRetryMs = 300_000

/** Milliseconds for which a closing carrier waits for its answers. */
export const drainTimeoutMs = 4_000

/** Seconds before the retry of a submit that the carrier was too busy for, without a stated time. */
export const busySeconds = 1

/** Longest pause that a carrier may ask for with Retry-After, in seconds. */
export const maxPauseSeconds = 600

/** Seconds for which a submit itself waits for a retry. The carrier has no capacity for the rest of the pause. */
export const maxRetrySeconds = 5

/** Milliseconds before the retry of a submit that met a full window: then it waits for its turn. */
export const capacityRetryMs = 10

/** Seconds before the retry of a submit that had no connection. */
export const unsentSeconds = 0.5

/** Characters of the provider's words that the operator sees. */
export const maxDetail = 200

/** Characters of an id that a provider may use. */
export const maxIdLength = 200

/** Characters of a code of a provider. */
export const maxCodeLength = 60

/** Octets of an unreadable callback that the operator sees. */
export const maxUnparsedOctets = 1_024

/** Octets of an unknown word for a state that the operator sees. */
export const maxUnparsedField = 255

/** Compiled patterns that are kept, of all connections. */
export const maxPatterns = 200

/** The longest ValidityPeriod of Twilio, in seconds. */
export const maxTwilioValiditySeconds = 36_000

/** Files of an inbound message. */
export const maxInboundMedia = 10

/** Seconds by which the time of a signed callback may differ from ours. */
export const maxCallbackAgeSeconds = 300

/** Characters of an answer that a pattern searches: they bound the work. */
export const maxSearchedLength = 8_192
