/** The machine-readable code of an error. */
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

/** Any error of this package, from a rejected promise or an `error` event. */
export class VoiceError extends Error {
  readonly code: ErrorCode
  /** The SIP or HTTP status; null for none. */
  readonly status: number | null

  constructor(code: ErrorCode, message: string, status: number | null = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'VoiceError'
    this.code = code
    this.status = status
  }
}

/** Converts an error of getUserMedia to a VoiceError with a message for the user. */
export const mediaError = (error: unknown): VoiceError => {
  const name = error instanceof Error ? error.name : ''
  if (name === 'NotAllowedError' || name === 'SecurityError')
    return new VoiceError('MEDIA_DENIED', 'Access to the microphone was denied', null, error)
  const why =
    name === 'NotFoundError' || name === 'OverconstrainedError'
      ? 'The microphone was not found'
      : 'The microphone cannot be used'
  return new VoiceError('MEDIA_FAILED', why, null, error)
}
