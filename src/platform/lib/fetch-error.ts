/** Error codes of Node's fetch before the first octet is sent: the request had no effect. */
const unsentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Returns the code of an error or of its cause; empty without one. */
export const fetchErrorCode = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

/** True if a request failed before anything was sent. */
export const failedBeforeSending = (error: unknown): boolean => unsentCodes.has(fetchErrorCode(error))
