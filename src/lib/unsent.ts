/** Errors of Node's fetch before the first octet was sent: nothing can have happened. */
const codes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The code of an error, or of what caused it; empty without one. */
export const codeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

/** Whether a request failed before anything of it was sent. */
export const isUnsent = (error: unknown): boolean => codes.has(codeOf(error))
