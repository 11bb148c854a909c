import { ApiError, ConnectionError } from './errors.ts'

const retriedStatuses: readonly number[] = [408, 429, 500, 502, 503, 504]

/** Conflicts that end by themselves: a channel that starts or is busy. */
const retriedConflicts: readonly string[] = ['channel_booting', 'channel_connecting', 'channel_busy']

/** Milliseconds of the first pause; it doubles with each attempt. */
const firstPauseMs = 500
const maxPauseMs = 8_000
/** Longest Retry-After that is obeyed. A longer one is an error at once. */
const maxRetryAfterMs = 60_000

/**
 * Returns the milliseconds to wait before the next attempt, or null if the request must not be repeated.
 * @param attempt from 0
 * @param random from 0 to 1: full jitter, so that clients do not return together
 */
export const retryPauseMs = (error: unknown, attempt: number, random = Math.random()): number | null => {
  const isRetried =
    error instanceof ApiError
      ? retriedStatuses.includes(error.status) || (error.status === 409 && retriedConflicts.includes(error.code))
      : error instanceof ConnectionError
  if (!isRetried) return null
  const requested = error instanceof ApiError && error.retryAfter !== undefined ? error.retryAfter * 1_000 : null
  if (requested !== null) return requested > maxRetryAfterMs ? null : requested
  return random * Math.min(maxPauseMs, firstPauseMs * 2 ** attempt)
}

/** Resolves after a time, or rejects with the reason of the signal. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', stop, { once: true })
  })
