import type { Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import type { EventName } from './names.ts'
import * as store from './store.ts'

/** Something that happened to an account. */
export type Event = {
  readonly account: string
  readonly name: EventName
  /** The uuid, without prefix, of the SMS channel, virtual number or messaging-app channel; null: the whole account. */
  readonly channel: string | null
  /** Events of an account with the same conversation are delivered in the order in which they were recorded. */
  readonly conversation: string | null
  /** Flat, as subscribers get it; `event` is added, and `uuid` where it has none. */
  readonly payload: { readonly [key: string]: unknown }
}

/** Records events in the transaction of what caused them. By one statement, in the order given. */
export const record = async (tx: Tx, events: readonly Event[]): Promise<void> => {
  if (events.length === 0) return
  await store.insert(
    tx,
    events.map((event) => {
      const id = uuid()
      return { ...event, id, payload: { uuid: id, ...event.payload, event: event.name } }
    }),
  )
}
