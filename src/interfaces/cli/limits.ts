// Limits of the command line.

/** Milliseconds for the response of the local receiver, as for a webhook. */
export const receiverTimeoutMs = 10_000

/** Ids of delivered events: after a reconnection the server sends the last ones again. */
export const maxRememberedEvents = 5_000

/** Milliseconds without a frame after which a connection is dead: the server sends a ping every 15 s. */
export const maxSilenceMs = 40_000

/** Bytes of a refusal that are read. */
export const maxRefusalBytes = 65_536

/** Characters of a cell of a table. */
export const maxCellLength = 40

/** Columns of a table, unless the command names them. */
export const defaultColumns = 7

/** Milliseconds for the response of the server. */
export const serverTimeoutMs = 60_000
