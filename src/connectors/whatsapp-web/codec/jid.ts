/**
 * Addresses of WhatsApp: `<digits>[:device]@s.whatsapp.net` is a phone number, `<digits>[:device]@lid` an identity of its own
 * whose digits are no number, `…@g.us` a group.
 */

/** Of a number, E.164. */
export const jidOf = (number: string): string => `${number.slice(1)}@s.whatsapp.net`

/** Without the device. */
export const bareOf = (jid: string): string =>
  jid.replace(/^([^@:]*):\d+@/, '$1@').replace(/@c\.us$/, '@s.whatsapp.net')

/** E.164 of an address that is a number; null for all others, whatever their digits. */
export const numberOf = (jid: string): string | null => {
  const digits = /^([1-9]\d{4,14})@s\.whatsapp\.net$/.exec(bareOf(jid))?.[1]
  return digits === undefined ? null : `+${digits}`
}

export const isLid = (jid: string): boolean => jid.endsWith('@lid')

export const isGroup = (jid: string): boolean => jid.endsWith('@g.us')

/** Somebody, not a group, a broadcast, a channel or the server. */
export const isSomebody = (jid: string): boolean => numberOf(jid) !== null || isLid(jid)
