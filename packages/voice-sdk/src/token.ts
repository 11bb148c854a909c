import { VoiceError } from './voice-error.ts'

/** The claims of a voice token. Not verified here: the server verifies the token. */
export type Claims = {
  /** URL of the server that issued the token. */
  readonly issuer: string
  /** The user, `USR…`. */
  readonly user: string
  /** Expiry, Unix milliseconds. */
  readonly until: number
}

const decode = (part: string): string => {
  const octets = Uint8Array.from(atob(part.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0))
  return new TextDecoder().decode(octets)
}

/** Reads the claims of a voice token. @throws VoiceError TOKEN_INVALID */
export const readToken = (token: string): Claims => {
  try {
    const { iss, sub, exp } = JSON.parse(decode(token.split('.')[1] ?? ''))
    if (typeof iss === 'string' && typeof sub === 'string' && typeof exp === 'number')
      return { issuer: iss, user: sub, until: exp * 1_000 }
  } catch {
    // Any malformed token ends in the error below.
  }
  throw new VoiceError('TOKEN_INVALID', 'This is not a voice token')
}
