// Limits of sending mail.

/** Milliseconds: to resolve the name, to connect, until the greeting, and of silence of an open connection. */
export const timeouts = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 15_000,
  socketTimeout: 30_000,
  maxResponseSize: 16_384,
}

/** Milliseconds of a whole session: a server that answers a byte at a time would hold it for ever. */
export const sessionMs = 60_000

/** Characters of a server's reply that are stored. */
export const maxReplyLength = 500
