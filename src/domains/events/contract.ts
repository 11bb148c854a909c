import { Enum } from '../../platform/http/schema.ts'
import { type EventName, eventNames } from './event-names.ts'

/** Name of an event that the platform publishes. */
export const AnyEvent = Enum<EventName[]>([...eventNames], {
  description: 'Event name',
  examples: ['msgapp.message.received'],
})
