import { operations } from './account-operations.gen.ts'
import { type EventStream, makeEventStream } from './event-stream.ts'
import { makeOperations } from './operations.ts'
import { type ClientOptions, makeTransport } from './transport.ts'
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

type TrunklineClass = new (options?: ClientOptions) => Trunkline

class Client {
  constructor(options: ClientOptions = {}) {
    const transport = makeTransport(options, { header: 'x-user-api-key', variable: 'TRUNKLINE_API_KEY' })
    Object.assign(this, makeOperations(operations, transport), { events: makeEventStream(transport) })
  }
}

// The table of operations has the methods that the generated types declare; test/client compares them.
export const Trunkline = Client as unknown as TrunklineClass
