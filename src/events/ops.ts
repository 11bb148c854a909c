import type { Tx } from '../db/sql.ts'
import { inSpelling } from '../http/naming.ts'
import { invalid } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { nearest } from '../lib/nearest.ts'
import { exampleOf } from './examples.ts'
import { type EventKind, type EventName, eventNamed, eventNames, subscribable } from './names.ts'
import * as store from './store.ts'

/** Something that happened to an account. */
export type Event = {
  readonly account: string
  readonly name: EventName
  /** The uuid, without prefix, of the SMS channel, virtual number or messaging-app channel; null: the whole account. */
  readonly channel: string | null
  /** Events of an account with the same conversation are delivered in the order in which they were recorded. */
  readonly conversation: string | null
  /**
   * Flat, as subscribers get it; `event` is added, and `uuid` where it has none. Subscribers may ask for those alone whose
   * `group_uuid` is a certain one. A `msgapp.conversation.new` carries `previous_message_at` (ISO 8601) unless it is the
   * first ever between the two: it is for those alone to whom a conversation is new after such a silence.
   */
  readonly payload: { readonly [key: string]: unknown }
}

/** Webhooks that have something to tell. Without a webhook: an account whose events wait for its pace. */
export type Recorded = readonly { readonly account: string; readonly webhook: string | null }[]

const listeners = new Set<(webhooks: Recorded, accounts: readonly string[]) => void>()

/** Calls `effect` after each commit that recorded events, with the webhooks that have something to tell and the accounts
 *  concerned. A hint, within this process: other processes look by themselves. @returns the way to end it */
export const onRecorded = (effect: (webhooks: Recorded, accounts: readonly string[]) => void): (() => void) => {
  listeners.add(effect)
  return () => void listeners.delete(effect)
}

/** Says that events were recorded by a statement of somebody's own, which has committed. */
export const announce = (webhooks: Recorded, accounts: readonly string[]): void => {
  const concerned = [...new Set(accounts)]
  for (const effect of listeners) effect(webhooks, concerned)
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

type Told = Omit<Event, 'name'> & { readonly name: string; readonly webhook: string | null }

const write = async (tx: Tx, events: readonly Told[], isBulk = false): Promise<readonly string[]> => {
  const rows = events.map((event): store.EventRow => {
    const id = uuid()
    const payload = { uuid: id, ...event.payload, event: event.name }
    const group = text(event.payload.group_uuid)
    const previousAt = text(event.payload.previous_message_at)
    return { ...event, id, group, previousAt, payload: JSON.stringify(payload) }
  })
  const fanned = await store.insert(tx, rows, isBulk)
  const webhooks = fanned.map(({ account_id, webhook_id }) => ({ account: account_id, webhook: webhook_id }))
  tx.afterCommit(() =>
    announce(
      webhooks,
      events.map(({ account }) => account),
    ),
  )
  return rows.map(({ id }) => id)
}

/** Records events in the transaction of what caused them, and who is to be told. By one statement, in the order given.
 *  @param isBulk of work on many rows that one request began: the deliveries are made at the account's pace */
export const record = async (tx: Tx, events: readonly Event[], isBulk = false): Promise<void> => {
  if (events.length > 0)
    await write(
      tx,
      events.map((event) => ({ ...event, webhook: null })),
      isBulk,
    )
}

/** Records an event that one webhook alone hears of, to try it: by any name that it is subscribed to. @returns its id */
export const recordFor = async (
  tx: Tx,
  webhook: string,
  event: Omit<Event, 'name'> & { name: string },
): Promise<string> => {
  const [id = ''] = await write(tx, [{ ...event, webhook }])
  return id
}

/** As whom an event is told: by the name, and in the second spelling of msgapp, by which it was asked for. */
export type Spelling = { readonly eventName: string; readonly msgappName: string | null }

/** What is told of an event: as it was recorded, or in the spelling in which it was asked for. The same bytes each time. */
export const told = (payload: string, { eventName, msgappName }: Spelling): string => {
  const isRespelt = !payload.includes(`"event":${JSON.stringify(eventName)}`)
  if (msgappName === null && !isRespelt) return payload
  const event = { ...JSON.parse(payload), event: eventName }
  return JSON.stringify(msgappName === null ? event : inSpelling(event, msgappName))
}

/** The event of a name, in whatever spelling. @throws Problem 400 that suggests the nearest */
export const eventOf = (name: string): EventName =>
  eventNamed(name) ??
  invalid(
    `There is no event ${name.slice(0, 60)}; did you mean ${nearest(name.slice(0, 60), eventNames)}?`,
    'unknown_event',
  )

/** What somebody who subscribes by this name hears of, and on what it happens. @throws Problem 400 that names all */
export const eventBy = (spelt: string): { name: string; kind: EventKind } =>
  subscribable(spelt) ??
  invalid(`There is no event ${spelt.slice(0, 60)}; there are ${eventNames.join(', ')}`, 'unknown_event')

/** The payload of an example, made of a new id; of what never happens here, nothing. @param at Unix milliseconds */
export const exampleBy = (name: string, id: string, at: number): { readonly [key: string]: unknown } => {
  const known = eventNames.find((one) => one === name)
  return known ? exampleOf(known, id, at) : {}
}
