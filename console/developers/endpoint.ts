import type { ReplyOf } from '../api/client.ts'
import type { Tone } from '../parts/status.tsx'

// Parts that the pages of webhooks share.

export type Endpoint = ReplyOf<'GET /open/webhooks/endpoints'>['endpoints'][number]
export type Webhook = Endpoint['webhooks'][number]
export type Delivery = ReplyOf<'GET /open/webhooks/:webhook_uuid/deliveries'>['deliveries'][number]
export type EventType = ReplyOf<'GET /open/webhooks/event-types'>['event_types'][number]

export const stateTones: Readonly<Record<Endpoint['state'], Tone>> = {
  active: 'good',
  failing: 'notice',
  paused: 'neutral',
  disabled: 'bad',
}

export const deliveryTones = { pending: 'info', delivered: 'good', failed: 'bad' } as const

/** Events that a live list of events follows. */
export const everyEvent = ['sms', 'msgapp', 'contact', 'call', 'number', 'balance']

/** JSON as people read it. */
export const pretty = (value: unknown): string => JSON.stringify(value, null, 2)

/** JSON text as people read it; other text unchanged. */
export const prettyText = (text: string): string => {
  try {
    return pretty(JSON.parse(text))
  } catch {
    return text
  }
}

/** A day of a filter as a time: its start, or the start of the next one. */
export const dayStart = (day: string | undefined, plusDays = 0): string | undefined => {
  if (!day || Number.isNaN(Date.parse(day))) return undefined
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date + plusDays).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** A whole number of the address; undefined for anything else. */
export const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined

/** One of the allowed values; undefined for anything else in the address. */
export const oneOf = <const T extends string>(values: readonly T[], text: string | undefined): T | undefined =>
  values.find((value) => value === text)
