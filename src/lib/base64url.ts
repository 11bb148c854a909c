/**
 * The bytes of canonical base64url (RFC 4648, 3.5 and 5): no padding, no other sign, and no bits behind the last byte. Null
 * for any other text: decoders take several spellings of the same bytes, and what is compared or revoked by its text must have one.
 */
export const fromBase64url = (text: string): Buffer | null => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}
