/**
 * Phone number of a WhatsApp id (`wa_id`), E.164 with `+`. Two numbering plans changed after sign-ups, and ids retain
 * the old form. Mexico dropped the 1 after 52 for mobiles (2019); Brazil put a 9 before eight-digit mobiles (2016).
 */
export const numberOfId = (id: string): string | null => {
  if (!/^[1-9]\d{6,14}$/.test(id)) return null
  const mexican = /^521(\d{10})$/.exec(id)
  if (mexican) return `+52${mexican[1]}`
  const brazilian = /^55(\d\d)([6-9]\d{7})$/.exec(id)
  return brazilian ? `+55${brazilian[1]}9${brazilian[2]}` : `+${id}`
}

/** The digits of a number in any notation, such as `+1 555-0100`. */
export const digitsOf = (written: string): string => written.replace(/\D/g, '')
