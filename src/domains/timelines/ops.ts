import type { Sql } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { type EventSubject, type FoundEvent, findEventsOf } from '../events/log/ops.ts'
import { deliveriesOf, type EventDelivery } from '../webhooks/event-deliveries/ops.ts'
import type { Fact, NextStepKind } from './contract.ts'
import { maxEntries } from './limits.ts'

/** A stored fact. */
export type TimelineFact = {
  readonly at: Date
  readonly what: Fact
  readonly text: string
  readonly leg?: 'caller' | 'callee' | null
  readonly detail?: { readonly [name: string]: string | number | boolean | null | undefined }
}

export type NextStep = { readonly kind: NextStepKind; readonly text: string; readonly target?: string }

/** How the subject of a timeline ended, and what helps next. */
export type Verdict = {
  readonly state: 'succeeded' | 'in_progress' | 'failed'
  readonly code?: string | null
  readonly text: string
  readonly step: NextStep
}

export const nothingToDo: NextStep = { kind: 'none', text: 'Nothing to do.' }

const detailOf = (detail: NonNullable<TimelineFact['detail']>) => {
  const known = Object.entries(detail).filter(
    (field): field is [string, string | number | boolean] => field[1] !== null && field[1] !== undefined,
  )
  return known.length === 0 ? {} : { detail: Object.fromEntries(known) }
}

/** Returns the fields of a reply: the facts in the order of their time, the outcome and the next step. */
export const presentTimeline = (facts: readonly TimelineFact[], { state, code, text, step }: Verdict) => {
  const sorted = facts.toSorted((one, other) => one.at.getTime() - other.at.getTime())
  const last = sorted.at(-1)
  const shown = sorted.length > maxEntries && last ? [...sorted.slice(0, maxEntries - 1), last] : sorted
  return {
    timeline: shown.map((fact, i) => ({
      at: iso(fact.at),
      after_ms: fact.at.getTime() - (shown[i - 1] ?? fact).at.getTime(),
      what: fact.what,
      text: fact.text,
      ...(fact.leg ? { leg: fact.leg } : {}),
      ...detailOf(fact.detail ?? {}),
    })),
    outcome: { state, ...(code ? { error_code: code } : {}), text },
    next_step: { kind: step.kind, text: step.text, ...(step.target ? { target_uuid: step.target } : {}) },
  }
}

const attemptText = (host: string, { response_status: status, error }: EventDelivery['attempts'][number]): string => {
  if (status === undefined) return `${host} did not answer: ${error ?? 'the connection failed'}`
  return status >= 200 && status < 300 ? `${host} accepted the event` : `${host} answered ${status}`
}

/** Returns the attempts of deliveries as facts. */
export const attemptFacts = (deliveries: readonly EventDelivery[]): TimelineFact[] =>
  deliveries.flatMap((one) =>
    one.attempts.map((attempt) => ({
      at: new Date(attempt.at),
      what: 'delivered_to_webhook' as const,
      text: attemptText(one.host, attempt),
      detail: {
        event_name: one.eventName,
        event_uuid: print('EVT', one.event),
        webhook_uuid: print('WHK', one.webhook),
        delivery_id: one.id,
        response_status: attempt.response_status,
        latency_ms: attempt.latency_ms,
      },
    })),
  )

/** Returns the step that helps a receiver which did not get its events; null if all got theirs. */
export const webhookStep = (deliveries: readonly EventDelivery[]): NextStep | null => {
  const failed = deliveries.find(({ state }) => state === 'failed')
  if (!failed) return null
  const target = print('WHK', failed.webhook)
  return {
    kind: 'check_webhook',
    text: `Check the receiver ${failed.host}, then send the delivery again with POST /open/webhooks/deliveries/${failed.id}/redeliver.`,
    target,
  }
}

/** Events of a subject with their deliveries. */
export type Publication = { readonly events: readonly FoundEvent[]; readonly deliveries: readonly EventDelivery[] }

/** Finds the events of a subject, and their deliveries to webhooks. */
export const publicationOf = async (sql: Sql, account: string, subject: EventSubject): Promise<Publication> => {
  const events = await findEventsOf(sql, account, subject)
  return { events, deliveries: await deliveriesOf(sql, account, events) }
}
