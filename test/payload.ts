import { eventDocuments } from '../src/event-payloads.ts'
import { exactFault } from './recipes/answer.ts'

const bodies = new Map(eventDocuments.map(({ name, body }) => [name, body]))

/** Compares a delivered body with the schema of its event. @returns the difference, or null */
export const payloadFault = (event: string, delivered: unknown): string | null => {
  const schema = bodies.get(event)
  return schema ? exactFault(schema, delivered) : `there is no schema of ${event}`
}
