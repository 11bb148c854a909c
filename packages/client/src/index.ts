import { operations } from './account-operations.gen.ts'
import { clientClass } from './client-class.ts'
import { type EventStream, makeEventStream } from './event-stream.ts'
import type { AccountOperations } from './types.gen.ts'

export type { CallOptions, FileContent, FileResponse } from './call-options.ts'
export * from './errors.ts'
export type { ListenedEvent, ListenOptions } from './event-stream.ts'
export type { List } from './list.ts'
export type { ClientOptions } from './transport.ts'
export type * from './types.gen.ts'
export { type VerifyOptions, verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhooks.ts'

/** Operations of an account. Methods are grouped by their subject: `trunkline.sms.send({ … })`. */
export type Trunkline = AccountOperations & { readonly events: EventStream }

export const Trunkline = clientClass<Trunkline>(
  operations,
  { header: 'x-user-api-key', variable: 'TRUNKLINE_API_KEY' },
  (transport) => ({ events: makeEventStream(transport) }),
)
