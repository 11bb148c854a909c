/** True for an IANA time zone that this runtime knows. */
export const isTimezone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/**
 * Returns the day and the time of day in a zone: `monday`, `09:30`.
 * @param timezone IANA name @throws RangeError for an unknown one
 */
export const localTime = (timezone: string, at: Date): { readonly day: string; readonly time: string } => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]))
  return { day: parts.get('weekday')?.toLowerCase() ?? '', time: `${parts.get('hour')}:${parts.get('minute')}` }
}
