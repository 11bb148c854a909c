/** Why a sound cannot be played, as programs see it. */
export type SoundErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'status'
  | 'forbidden_address'
  | 'too_large'
  | 'format'
  | 'tts_unavailable'
  | 'tts_empty'
  | 'clip_not_found'

/** A sound that cannot be played, with the code that programs see. */
export class SoundError extends Error {
  readonly code: SoundErrorCode
  constructor(code: SoundErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export const failed = (code: SoundErrorCode, message: string): SoundError => new SoundError(code, message)
