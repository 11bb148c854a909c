import { ok, route } from '../../../platform/http/endpoint.ts'
import { exampleOf } from '../../../platform/http/openapi.ts'
import { type EventDocument, eventExample } from '../../../platform/http/openapi-webhooks.ts'
import { requireSubscribable } from '../../events/ops.ts'
import { listEventTypes } from '../contract.ts'

/** Returns a schema as plain JSON. The names of its parts are for the OpenAPI document only. */
const plain = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === 'x-name' ? undefined : value)))

export const eventTypeRoutes = (documents: readonly EventDocument[]) => {
  const describe = (document: EventDocument) => ({
    event_name: document.name,
    description: document.summary,
    channel: requireSubscribable(document.name).kind,
    schema: plain(document.body),
    example: eventExample(document, exampleOf),
  })
  // Made for the first request: 12 ms of processor time, which each start would pay.
  let eventTypes: ReturnType<typeof describe>[] | null = null
  return [
    route(listEventTypes, async () => {
      eventTypes ??= documents.map(describe)
      return ok({ event_types: eventTypes })
    }),
  ]
}
