// Limits of notifications by Web Push.

/** Subscriptions of a person. A further one replaces the oldest. */
export const maxSubscriptions = 20

/** Characters of the address of a push service. */
export const maxEndpointLength = 2_048

/** Milliseconds that a push service may take to reply, and bytes of the reply that are read. */
export const exchangeLimits = { timeoutMs: 10_000, maxBytes: 4_096 }

/** Seconds between a message and its notification: what is read or answered meanwhile notifies no person. */
export const delaySeconds = 5

/** Seconds for which a page that was visible counts as visible. */
export const visibleSeconds = 30

/** Seconds between two notifications of one conversation to one browser. */
export const repeatSeconds = 30

/** Members of an account who are notified of one message. */
export const maxRecipients = 200

/** Seconds for which a push service keeps a message for a browser that is offline: RFC 8030, 5.2. */
export const ttlSeconds = { message: 43_200, missed_call: 43_200, mention: 43_200, call: 30, test: 300, close: 43_200 }

/** Attempts to deliver a push, and the longest pause that a push service may ask for, in seconds. */
export const deliveryLimits = { attempts: 6, maxRetryAfter: 900 }

/** Pushes that this process delivers at the same time. */
export const concurrency = 16

/** Hours for which a token of this installation is valid, and after which a new one is made: RFC 8292, 2. */
export const tokenHours = { valid: 12, reused: 6 }

/** Tokens that are kept, one for each push service. */
export const maxTokens = 500

/** Bytes to which messages are padded, so that their length tells nothing: RFC 8291, 4. */
export const paddedBytes = 1_024

/** Days after which a notification is no longer withdrawn. */
export const shownDays = 2

/** Characters of a browser's name that are stored. */
export const maxUserAgentLength = 300
