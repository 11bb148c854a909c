import { isIP } from 'node:net'

/** Ed25519, ES256 and RS256, which every browser supports, by their COSE numbers (RFC 9053). */
export const algorithms: number[] = [-8, -7, -257]

/** The site that passkeys are bound to (WebAuthn, 4: relying party). */
export type RelyingParty = { readonly id: string; readonly origin: string }

/**
 * Returns the relying party of an installation; null where browsers permit none. An address is never one, and plain HTTP
 * only for `localhost`.
 */
export const relyingPartyOf = (publicUrl: string): RelyingParty | null => {
  const { protocol, hostname, origin } = new URL(publicUrl)
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  return protocol === 'https:' || hostname === 'localhost' ? { id: hostname, origin } : null
}
