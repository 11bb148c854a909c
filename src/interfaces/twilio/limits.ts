// Limits of the interface in the shape of Twilio.

/** Tokens of an account that are valid at once: the present one, and the next one during a rotation. */
export const maxTokens = 2

/** Rows of a page. */
export const maxPageSize = 1_000

/** Rows of a page that is asked for without a size. */
export const defaultPageSize = 50

/** Characters of a page token, which has a cursor and the number of the page. */
export const maxPageTokenLength = 400

/** Characters of an address of callbacks. */
export const maxUrlLength = 4_000

/** Seconds of the validity of a message: Twilio's range. */
export const maxValiditySeconds = 36_000

/** Numbers that one search for free numbers returns. */
export const maxFoundNumbers = 500

/** Milliseconds for a request to the program of an account, from the connection to the last byte. */
export const programTimeoutMs = 15_000

/** Milliseconds until a connection to a program is ready for the request. */
export const programConnectMs = 5_000

/** Range of the overrides `ct` and `rt` in the fragment of an address, milliseconds. */
export const programTimeoutRange = { least: 1_000, most: 15_000 } as const

/** Milliseconds for all documents of one program that answer an inbound message, over all redirects. The fallback is another
 *  program. */
export const programTotalMs = 30_000

/** Most retries of the override `rc`. */
export const maxProgramRetries = 5

/** Bytes of a document of TwiML. */
export const maxDocumentBytes = 64 * 1024

/** Depth of the elements of a document. */
export const maxDocumentDepth = 6

/** Elements of a document. */
export const maxDocumentElements = 200

/** Milliseconds between the attempts of one request to a program. */
export const retryPauseMs = 500

/** Characters of a text: Twilio's limit, and that of the domain. */
export const maxBodyLength = 1_600

/** Documents that one inbound message may redirect to, one after the other. */
export const maxRedirects = 10

/** Messages that one document may send. */
export const maxReplies = 10

/** Attempts of the report of a status: 1 s, doubled each time, about 17 minutes in all. */
export const maxStatusAttempts = 11

/** Seconds for which the status callbacks of a blocked account are kept. */
export const maxBlockedSeconds = 86_400

/** Seconds between the looks whether an account is still blocked, as bounds of a quarter of the age of the callback. */
export const blockedCheckSeconds = { least: 60, most: 3_600 } as const

/** Accounts with credentials that are held in memory. Beyond it, they are looked up again. */
export const maxKnownAccounts = 100_000

/** Characters that one Say speaks: Twilio's limit, and that of the verb. */
export const maxSpokenLength = 4_096

/** Characters of the TwiML that a request brings: Twilio's limit. */
export const maxTwimlLength = 4_000

/** Seconds for which a call may ring: the range of the domain. */
export const [minRingTimeout, maxRingTimeout] = [5, 600]

/** Seconds of ringing without a wish: Twilio's. */
export const ordinaryRingTimeout = 60

/** Seconds that a call may last: Twilio's limit, and that of the domain. */
export const maxCallTimeLimit = 86_400

/** Values that a request gives a stream: Twilio's limit. */
export const maxStreamParameters = 99

/** Notes of a document of a call: further ones are not taken. */
export const maxDocumentNotes = 50
