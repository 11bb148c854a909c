import { place } from './schedule.ts'

// Stands in for node:crypto in src/platform/lib/id.ts (modules.ts): ids follow the clock of the schedule, so that a
// seed gives the same order of ids again.

/** @returns a UUID version 7 (RFC 9562, 5.7) */
export const randomUUIDv7 = (): string => {
  const at = place.getStore()
  if (!at) throw new Error('ids of the simulation are made by its processes')
  const { schedule, process } = at
  const ms = Math.floor(schedule.now).toString(16).padStart(12, '0')
  const digits = (count: number) =>
    Array.from({ length: count }, () => Math.floor(schedule.random() * 16).toString(16)).join('')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8${process.slot.toString(16)}${digits(2)}-${digits(12)}`
}
