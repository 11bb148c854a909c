/** Milliseconds of a UTC day: none has leap seconds here. */
export const oneDay = 86_400_000

/** Returns the UTC day of a time, YYYY-MM-DD. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
