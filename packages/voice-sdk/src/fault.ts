/** What can go wrong, as one word for programs. */
export type ErrorCode =
  | 'TOKEN_INVALID'
  | 'TOKEN_EXPIRED'
  | 'AUTH_ERROR'
  | 'CONFIG_FETCH_FAILED'
  | 'REGISTRATION_FAILED'
  | 'REGISTER_ERROR'
  | 'UNREGISTER_ERROR'
  | 'NOT_REGISTERED'
  | 'CALL_FAILED'
  | 'MEDIA_DENIED'
  | 'MEDIA_FAILED'
  | 'TRANSPORT_LOST'

/** Every failure that this package reports: rejected by a promise, or told by an `error` event. */
export class VoiceError extends Error {
  readonly code: ErrorCode
  /** The SIP or HTTP status behind it; null for none. */
  readonly status: number | null

  constructor(code: ErrorCode, message: string, status: number | null = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'VoiceError'
    this.code = code
    this.status = status
  }
}

/** What went wrong at the microphone, in words that help whoever sits before it. */
export const mediaError = (error: unknown): VoiceError => {
  const name = error instanceof Error ? error.name : ''
  if (name === 'NotAllowedError' || name === 'SecurityError')
    return new VoiceError('MEDIA_DENIED', 'The microphone was not allowed', null, error)
  const why =
    name === 'NotFoundError' || name === 'OverconstrainedError'
      ? 'There is no such microphone'
      : 'The microphone cannot be used'
  return new VoiceError('MEDIA_FAILED', why, null, error)
}
