/**
 * WhatsApp addresses: `<digits>[:device]@s.whatsapp.net` is a phone number, `…@g.us` a group. `<digits>[:device]@lid`
 * is an identity whose digits are not a phone number.
 */

/** Address of an E.164 number. */
export const jidOf = (number: string): string => `${number.slice(1)}@s.whatsapp.net`

/** Address without the device. */
export const bareOf = (jid: string): string =>
  jid.replace(/^([^@:]*):\d+@/, '$1@').replace(/@c\.us$/, '@s.whatsapp.net')

/** E.164 number of a phone-number address; null for all others, whatever their digits. */
export const numberOf = (jid: string): string | null => {
  const digits = /^([1-9]\d{4,14})@s\.whatsapp\.net$/.exec(bareOf(jid))?.[1]
  return digits === undefined ? null : `+${digits}`
}

export const isLid = (jid: string): boolean => jid.endsWith('@lid')

export const isGroup = (jid: string): boolean => jid.endsWith('@g.us')

/** True for a person; false for a group, broadcast, channel or the server. */
export const isPerson = (jid: string): boolean => numberOf(jid) !== null || isLid(jid)
