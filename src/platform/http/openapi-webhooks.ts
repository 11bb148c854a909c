import type { TSchema } from 'typebox'
import type { Components, Json } from './openapi-components.ts'

/** An event that webhooks receive. */
export type EventDocument = { readonly name: string; readonly summary: string; readonly body: TSchema }

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** Headers of each delivery, as Standard Webhooks defines them. */
export const webhookHeaders: Json = {
  WebhookId: header('webhook-id', 'Id of the event; the same for each attempt and replay'),
  WebhookTimestamp: header('webhook-timestamp', 'Unix seconds of the attempt'),
  WebhookSignature: header('webhook-signature', 'One or two signatures, v1 and base64, separated by a space'),
}

const operationIdOf = (name: string): string =>
  `on${name.replace(/(?:^|\.)([a-z])/g, (_, first: string) => first.toUpperCase())}`

/** Returns an example of an event's body. */
export const eventExample = ({ name, body }: EventDocument, exampleOf: (schema: TSchema) => unknown): Json =>
  Object.fromEntries(
    Object.entries(Object(exampleOf(body)))
      .filter(([field]) => field !== 'test' && field !== 'note')
      .map(([field, value]) => [field, field === 'event' ? name : value]),
  )

/** Returns the `webhooks` section of the document: one request for each event. */
export const webhookSection = (
  events: readonly EventDocument[],
  components: Components,
  exampleOf: (schema: TSchema) => unknown,
): Json =>
  Object.fromEntries(
    events.map(({ name, summary, body }) => [
      name,
      {
        post: {
          operationId: operationIdOf(name),
          tags: ['Events'],
          summary,
          description: `Subscribe with POST /open/webhooks/subscribe/${name}. A delivery without a 2xx response is retried.`,
          security: [],
          parameters: Object.keys(webhookHeaders).map((key) => ({ $ref: `#/components/parameters/${key}` })),
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: components.referenced(body),
                example: eventExample({ name, summary, body }, exampleOf),
              },
            },
          },
          responses: {
            '2XX': { description: 'The event is delivered' },
            '410': { description: 'The receiver is gone: the webhook is disabled' },
          },
        },
      },
    ]),
  )
