/**
 * Decodes canonical base64url (RFC 4648, 3.5 and 5): no padding, no other characters, no trailing bits. Returns null
 * for anything else. Decoders accept several spellings of the same bytes, but a token that is compared or revoked by
 * its text must have only one.
 */
export const fromBase64url = (text: string): Buffer | null => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}
