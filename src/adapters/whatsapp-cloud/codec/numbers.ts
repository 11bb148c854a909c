/** Phone number of a WhatsApp id (`wa_id`), with `+`. Ids retain the form that a number had at its sign-up. */
export const numberOfId = (id: string): string | null => (/^[1-9]\d{6,14}$/.test(id) ? `+${id}` : null)

/** The digits of a number in any notation, such as `+1 555-0100`. */
export const digitsOf = (written: string): string => written.replace(/\D/g, '')
