import { clock, shortDay } from './format.ts'
import { locale } from './section.ts'

let weekdays: { readonly tag: string; readonly format: Intl.DateTimeFormat } | undefined

const weekday = (time: Date): string => {
  if (weekdays?.tag !== locale())
    weekdays = { tag: locale(), format: new Intl.DateTimeFormat(locale(), { weekday: 'short' }) }
  return weekdays.format.format(time)
}

/** A time in little room: `14:05` today, `Mon` within a week, else `23 Nov`. */
export const listTime = (at: string, now: number): string => {
  const time = new Date(at)
  if (time.toDateString() === new Date(now).toDateString()) return clock(time)
  return Math.abs(now - time.getTime()) < 6 * 86_400_000 ? weekday(time) : shortDay(time, now)
}

let days:
  | { readonly tag: string; readonly near: Intl.RelativeTimeFormat; readonly far: Intl.DateTimeFormat }
  | undefined

const midnight = (time: Date): number => new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime()

/** The name of a day in a thread: `today`, `yesterday`, `Friday 20 November`, with the year of another one. */
export const dayName = (at: string, now: number): string => {
  if (days?.tag !== locale())
    days = {
      tag: locale(),
      near: new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }),
      far: new Intl.DateTimeFormat(locale(), { weekday: 'long', day: 'numeric', month: 'long' }),
    }
  const time = new Date(at)
  const ago = Math.round((midnight(time) - midnight(new Date(now))) / 86_400_000)
  if (ago === 0 || ago === -1) {
    const name = days.near.format(ago, 'day')
    return name.charAt(0).toLocaleUpperCase(locale()) + name.slice(1)
  }
  const isThisYear = time.getFullYear() === new Date(now).getFullYear()
  return isThisYear ? days.far.format(time) : `${days.far.format(time)} ${time.getFullYear()}`
}
