import { randomBytes, timingSafeEqual } from 'node:crypto'
import { keyHash, type Seal } from '../../../platform/lib/secret.ts'
import { challengeMs } from '../limits.ts'

// A challenge is a signed text with its expiry, so that unanswered ones need no memory. Answered ones are stored.

/** `register` is followed by the id of the person. */
export type ChallengePurpose = `register ${string}` | 'enter'

const signatureOf = (seal: Seal, text: string): string => seal.sign(`challenge of a passkey: ${text}`)

export const makeChallenge = (seal: Seal, purpose: ChallengePurpose): string => {
  const text = `${purpose}|${Date.now() + challengeMs}|${randomBytes(16).toString('base64url')}`
  return `${text}|${signatureOf(seal, text)}`
}

/** Whether a challenge is one of ours for a purpose, and has not expired. @param encoded in base64url */
export const isChallenge = (seal: Seal, purpose: ChallengePurpose, encoded: string): boolean => {
  const challenge = Buffer.from(encoded, 'base64url').toString()
  const end = challenge.lastIndexOf('|')
  const text = challenge.slice(0, Math.max(0, end))
  const [received, expected] = [Buffer.from(challenge.slice(end + 1)), Buffer.from(signatureOf(seal, text))]
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false
  const [ownPurpose, expiry] = text.split('|')
  return ownPurpose === purpose && Number(expiry) > Date.now()
}

export const challengeDigest = (encoded: string): Buffer => keyHash(Buffer.from(encoded, 'base64url').toString())
