import { VoiceError } from './fault.ts'

/** What a voice token says of itself. Read, never believed: the server verifies it. */
export type Claims = {
  /** The server that made it. */
  readonly issuer: string
  /** The user, `USR…`. */
  readonly user: string
  /** When it ends, Unix milliseconds. */
  readonly until: number
}

const decode = (part: string): string => {
  const octets = Uint8Array.from(atob(part.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0))
  return new TextDecoder().decode(octets)
}

/** @throws VoiceError TOKEN_INVALID when it is no voice token */
export const readToken = (token: string): Claims => {
  try {
    const { iss, sub, exp } = JSON.parse(decode(token.split('.')[1] ?? ''))
    if (typeof iss === 'string' && typeof sub === 'string' && typeof exp === 'number')
      return { issuer: iss, user: sub, until: exp * 1_000 }
  } catch {
    // Told below: what it is instead does not matter.
  }
  throw new VoiceError('TOKEN_INVALID', 'This is no voice token')
}
