import type { Tx } from '../db/sql.ts'
import { invalid } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { nearest } from '../lib/nearest.ts'
import { type EventName, eventNames } from './names.ts'
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

/** The event of a name. @throws Problem 400 that suggests the nearest */
export const eventOf = (name: string): EventName =>
  eventNames.find((known) => known === name) ??
  invalid(
    `There is no event ${name.slice(0, 60)}; did you mean ${nearest(name.slice(0, 60), eventNames)}?`,
    'unknown_event',
  )
