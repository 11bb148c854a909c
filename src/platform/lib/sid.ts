// Ids of the compatible interface: a prefix of two letters and the 32 hexadecimal digits of the uuid.

/** Prefixes: account, API key, message, message with media, number, media file, call, recording, application, media stream. */
export type SidPrefix = 'AC' | 'SK' | 'SM' | 'MM' | 'PN' | 'ME' | 'CA' | 'RE' | 'AP' | 'MZ'

/** Returns an id in the form of the compatible interface: `SM01a1fcca93ab7cbc9f10be702f775479`. */
export const printSid = (prefix: SidPrefix, id: string): string => prefix + id.replaceAll('-', '')

const form = /^[0-9a-f]{32}$/

/** Returns the uuid of a printed id with one of the prefixes; null for any other text. Upper case is refused. */
export const parseSid = (prefixes: SidPrefix | readonly SidPrefix[], text: string): string | null => {
  const prefix = [prefixes].flat().find((one) => text.startsWith(one))
  const digits = text.slice(2)
  if (prefix === undefined || !form.test(digits)) return null
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
