import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { recoveryCodeBytes, recoveryCodes, totpSecretBytes, totpStepSeconds, totpSteps } from '../limits.ts'

// Codes of an authenticator app: TOTP (RFC 6238) with SHA-1, 6 digits and steps of 30 s, as every app supports.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns bytes in base32 without padding (RFC 4648, section 6). */
export const base32 = (bytes: Uint8Array): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

/** Returns a new secret: 160 bits, as RFC 4226 recommends in section 4. */
export const makeSecret = (): Buffer => randomBytes(totpSecretBytes)

/** Returns the time step of a time. @param ms Unix milliseconds */
export const stepAt = (ms: number): number => Math.floor(ms / 1_000 / totpStepSeconds)

/** Returns the code of a time step (RFC 4226, section 5.3). */
export const codeAt = (secret: Uint8Array, step: number, digits = 6): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** Returns the step of a code that is valid at a time, or null. Clocks may differ by one step. */
export const stepOf = (secret: Uint8Array, code: string, ms: number): number | null => {
  if (!/^\d{6}$/.test(code)) return null
  const now = stepAt(ms)
  let found: number | null = null
  // Every step is compared, so that the time reveals nothing.
  for (let step = now - totpSteps; step <= now + totpSteps; step++)
    if (timingSafeEqual(Buffer.from(codeAt(secret, step)), Buffer.from(code))) found = step
  return found
}

/** Returns the address that an app scans, in the form of Google Authenticator. */
export const otpauthUrl = (secret: Uint8Array, email: string): string =>
  `otpauth://totp/Trunkline:${encodeURIComponent(email)}?secret=${base32(secret)}&issuer=Trunkline`

/** Returns new recovery codes of 80 bits, such as `abcd-efgh-ijkl-mnop`. */
export const makeRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodes }, () =>
    base32(randomBytes(recoveryCodeBytes))
      .toLowerCase()
      .replace(/(.{4})(?=.)/g, '$1-'),
  )

/** Returns a code without what people add to it: spaces, hyphens, capitals. */
export const bareCode = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase()
