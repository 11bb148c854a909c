// Periods of a usage report. They begin at midnight UTC; charts show them at the same date of the person's zone.

type Step = 'day' | 'week' | 'month'

const startOf = (time: number, step: Step): Date => {
  const date = new Date(time)
  date.setUTCHours(0, 0, 0, 0)
  if (step === 'week') date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  if (step === 'month') date.setUTCDate(1)
  return date
}

const next = (date: Date, step: Step): Date => {
  const after = new Date(date)
  if (step === 'month') after.setUTCMonth(after.getUTCMonth() + 1)
  else after.setUTCDate(after.getUTCDate() + (step === 'week' ? 7 : 1))
  return after
}

/** Starts of all periods between two moments, as the report names them: `2026-11-23T00:00:00Z`. */
export const periodsBetween = (since: string, until: string, step: Step): readonly string[] => {
  const end = Date.parse(until)
  const starts: string[] = []
  for (let at = startOf(Date.parse(since), step); at.getTime() < end; at = next(at, step))
    starts.push(`${at.toISOString().slice(0, 19)}Z`)
  return starts
}

/** The same date in the person's zone, in milliseconds. */
export const localDate = (period: string): number => new Date(`${period.slice(0, 10)}T00:00:00`).getTime()
