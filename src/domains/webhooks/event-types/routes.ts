import { ok, route } from '../../../platform/http/endpoint.ts'
import { exampleOf } from '../../../platform/http/openapi.ts'
import { type EventDocument, eventExample } from '../../../platform/http/openapi-webhooks.ts'
import { requireSubscribable } from '../../events/ops.ts'
import { listEventTypes } from '../contract.ts'

/** Returns a schema as plain JSON. The names of its parts are for the OpenAPI document only. */
const plain = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === 'x-name' ? undefined : value)))

export const eventTypeRoutes = (documents: readonly EventDocument[]) => {
  const eventTypes = documents.map((document) => ({
    event_name: document.name,
    description: document.summary,
    channel: requireSubscribable(document.name).kind,
    schema: plain(document.body),
    example: eventExample(document, exampleOf),
  }))
  return [route(listEventTypes, async () => ok({ event_types: eventTypes }))]
}
