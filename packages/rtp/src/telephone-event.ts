/** Named events in RTP (RFC 4733): the digits of a telephone, 0 to 15. */

const digits = '0123456789*#ABCD'

export const digitOf = (event: number): string | null => digits[event] ?? null

/** Returns null if the character is not a telephone key. */
export const eventOf = (digit: string): number | null => {
  const event = digit.length === 1 ? digits.indexOf(digit.toUpperCase()) : -1
  return event < 0 ? null : event
}

/** `duration`: clock units since the start of the event, which is the packet's timestamp. */
export type NamedEvent = { readonly event: number; readonly end: boolean; readonly duration: number }

export const readEvent = (payload: Buffer): NamedEvent | null =>
  payload.length < 4
    ? null
    : { event: payload[0] ?? 0, end: ((payload[1] ?? 0) & 0x80) !== 0, duration: payload.readUInt16BE(2) }

/** Serialises an event at -10 dBm0, the level of most telephones. */
export const writeEvent = ({ event, end, duration }: NamedEvent): Buffer => {
  const written = Buffer.from([event, (end ? 0x80 : 0) | 10, 0, 0])
  written.writeUInt16BE(Math.min(duration, 0xffff), 2)
  return written
}
