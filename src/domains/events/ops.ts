import type { Sql, Tx } from '../../platform/db/sql.ts'
import { addAlias, applyAlias } from '../../platform/http/alias.ts'
import { refuse } from '../../platform/http/problem.ts'
import { uuid } from '../../platform/lib/id.ts'
import { closestWord } from '../../platform/lib/levenshtein.ts'
import { type EventKind, type EventName, eventNames, findEventName, subscribable } from './event-names.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** An event of an account. */
export type Event = {
  readonly account: string
  readonly name: EventName
  /** Uuid, without prefix, of the SMS channel, virtual number or messaging-app channel; null for the whole account. */
  readonly channel: string | null
  /** Events of an account with the same conversation are delivered in the order in which they were recorded. */
  readonly conversation: string | null
  /**
   * Flat, as delivered; `record` adds `event`, and `uuid` if missing. Subscribers may filter by `group_uuid`. A
   * `msgapp.conversation.new` carries `previous_message_at` (ISO 8601) unless it is the first of its conversation:
   * only webhooks whose quiet time has passed since then receive it.
   */
  readonly payload: { readonly [key: string]: unknown }
}

/** Webhooks with pending deliveries. `webhook` is null for an account whose deliveries wait for its fan-out rate. */
export type PendingDeliveries = readonly { readonly account: string; readonly webhook: string | null }[]

/** @param names the names of the events; null where the statement that recorded them does not return them */
type RecordedEffect = (
  webhooks: PendingDeliveries,
  accounts: readonly string[],
  names: ReadonlySet<string> | null,
) => void

const listeners = new Set<RecordedEffect>()

/** Calls `effect` after each commit that recorded events, with the webhooks that have deliveries, the accounts concerned
 *  and the names of the events. The call is a hint within this process: other processes poll.
 *  @returns a function that unsubscribes */
export const onRecorded = (effect: RecordedEffect): (() => void) => {
  listeners.add(effect)
  return () => void listeners.delete(effect)
}

/** Notifies the listeners of events that another committed statement recorded. */
export const notifyRecorded = (
  webhooks: PendingDeliveries,
  accounts: readonly string[],
  names: ReadonlySet<string> | null = null,
): void => {
  const concerned = [...new Set(accounts)]
  for (const effect of listeners) effect(webhooks, concerned, names)
}

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

type EventDraft = Omit<Event, 'name'> & { readonly name: string; readonly webhook: string | null }

/** Returns a function that serialises payloads. Events with one payload that has its own `uuid` share most of the text. */
const makePayloadWriter = () => {
  const begun = new Map<EventDraft['payload'], string>()
  return ({ payload, name }: EventDraft, id: string): string => {
    if (payload.uuid === undefined || 'event' in payload) return JSON.stringify({ uuid: id, ...payload, event: name })
    const begin = begun.get(payload) ?? JSON.stringify({ uuid: id, ...payload }).slice(0, -1)
    begun.set(payload, begin)
    return `${begin},"event":${JSON.stringify(name)}}`
  }
}

const recordRows = async (tx: Tx, events: readonly EventDraft[], isBulk = false): Promise<readonly string[]> => {
  const write = makePayloadWriter()
  const rows = events.map((event): store.EventRow => {
    const id = uuid()
    const group = stringOrNull(event.payload.group_uuid)
    // A test is delivered whatever its payload says.
    const previousAt = event.webhook === null ? stringOrNull(event.payload.previous_message_at) : null
    return { ...event, id, group, previousAt, payload: write(event, id) }
  })
  const fanned = await store.insert(tx, rows, isBulk)
  const webhooks = fanned.map(({ account_id, webhook_id }) => ({ account: account_id, webhook: webhook_id }))
  tx.afterCommit(() =>
    notifyRecorded(
      webhooks,
      events.map(({ account }) => account),
      new Set(events.map(({ name }) => name)),
    ),
  )
  return rows.map(({ id }) => id)
}

/** Records events and their deliveries in the transaction of their cause, by one statement, in the given order.
 *  @param isBulk true for bulk work of one request: deliveries are then made at the account's fan-out rate */
export const record = async (tx: Tx, events: readonly Event[], isBulk = false): Promise<void> => {
  if (events.length > 0)
    await recordRows(
      tx,
      events.map((event) => ({ ...event, webhook: null })),
      isBulk,
    )
}

/** Records a test event for one webhook, under any name that it subscribes to. @returns the id of the event */
export const recordFor = async (
  tx: Tx,
  webhook: string,
  event: Omit<Event, 'name'> & { name: string },
): Promise<string> => {
  const [id = ''] = await recordRows(tx, [{ ...event, webhook }])
  return id
}

/** Event name under which a webhook subscribed, and the second spelling of msgapp if its payloads have it. */
export type EventSpelling = { readonly eventName: string; readonly msgappName: string | null }

const spellsMsgapp = (eventName: string): boolean => eventName.startsWith('msgapp.')

/**
 * Returns the spelling of a subscription. A name without msgapp, such as that of a call, is in neither spelling.
 * @param requested the second spelling, if the subscription uses it
 * @param configured the second spelling of the installation
 */
export const spellingOf = (eventName: string, requested: string | null, configured: string | null): EventSpelling => ({
  eventName,
  msgappName: spellsMsgapp(eventName) ? requested : configured,
})

/**
 * Returns the delivered body of an event, in the spelling of the subscription; fields in both if it is in neither.
 * Every attempt sends the same bytes.
 */
export const eventBody = (payload: string, { eventName, msgappName }: EventSpelling): string => {
  const isRespelt = !payload.includes(`"event":${JSON.stringify(eventName)}`)
  const alias = msgappName !== null && payload.includes('msgapp') ? msgappName : null
  if (alias === null && !isRespelt) return payload
  const event = { ...JSON.parse(payload), event: eventName }
  if (alias === null) return JSON.stringify(event)
  return JSON.stringify(spellsMsgapp(eventName) ? applyAlias(event, alias) : addAlias(event, alias))
}

/** Returns the event for a name or alias. @throws Problem 400 that suggests the closest name, or lists all */
export const requireEventName = (name: string): EventName => {
  const found = findEventName(name)
  if (found) return found
  const short = name.slice(0, 60)
  const closest = closestWord(short, eventNames)
  throw closest === null ? refusals.unknownEvent(short, eventNames.join(', ')) : refusals.misspeltEvent(short, closest)
}

/** Returns the event that a subscription to this name receives, with its kind. @throws Problem 400 with all names */
export const requireSubscribable = (spelt: string): { name: string; kind: EventKind } =>
  subscribable(spelt) ?? refuse(refusals.unknownEvent(spelt.slice(0, 60), eventNames.join(', ')))

/** Returns the payload of the newest event of a name, without `event` and without its own id; null for none. */
export const newestPayload = async (
  sql: Sql,
  account: string,
  of: { name: string; channel: string | null; group: string | null },
): Promise<{ readonly [key: string]: unknown } | null> => {
  const found = await store.newest(sql, account, of)
  if (found === null) return null
  const { event: _, ...payload } = JSON.parse(found)
  // A uuid without a prefix is the id of the event itself.
  if (/^[0-9a-f-]{36}$/.test(payload.uuid)) delete payload.uuid
  return payload
}

/** True if the platform publishes events of this name. */
export const isPublished = (name: string): boolean => eventNames.some((known) => known === name)
