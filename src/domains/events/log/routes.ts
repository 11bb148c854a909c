import { ok, route } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print, timeOf } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { conversationEvents } from '../../inbox/messages/ops.ts'
import { contentsOf } from '../../inbox/narrowing/ops.ts'
import { refusals as msgappRefusals } from '../../msgapp/refusals.ts'
import { attemptFacts, nothingToDo, presentTimeline, type Verdict, webhookStep } from '../../timelines/ops.ts'
import { deliveriesOf, type EventDelivery } from '../../webhooks/event-deliveries/ops.ts'
import { clockSkewMs } from '../limits.ts'
import { requireEventName } from '../ops.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { firstIdAt } from './event-id.ts'
import { presentEvent } from './event-presenter.ts'
import * as store from './store.ts'

const cursors = cursorsOf(c.listEvents)

const dateOf = (value: string | undefined): Date | null => (value === undefined ? null : new Date(value))

const verdictOf = (deliveries: readonly EventDelivery[]): Verdict => {
  const total = deliveries.length
  const done = deliveries.filter(({ state }) => state === 'delivered').length
  if (total === 0)
    return {
      state: 'succeeded',
      text: 'The event was recorded. No webhook was subscribed to it.',
      step: nothingToDo,
    }
  const step = webhookStep(deliveries)
  if (step) return { state: 'failed', text: `${done} of ${total} webhooks received the event.`, step }
  if (done < total)
    return {
      state: 'in_progress',
      text: `${done} of ${total} webhooks received the event. The others are tried again.`,
      step: { kind: 'wait', text: 'Wait for the next attempt, or check the receiver.' },
    }
  return {
    state: 'succeeded',
    text: total === 1 ? 'The webhook received the event.' : `All ${total} webhooks received the event.`,
    step: nothingToDo,
  }
}

const presentDelivery = (one: EventDelivery) => {
  const status = one.attempts.at(-1)?.response_status
  return {
    id: one.id,
    webhook_uuid: print('WHK', one.webhook),
    host: one.host,
    state: one.state,
    attempts: one.attempts.length,
    ...(one.nextAt ? { next_attempt_at: iso(one.nextAt) } : {}),
    ...(status === undefined ? {} : { response_status: status }),
  }
}

/** Routes of the event log. */
export const eventLogRoutes = ({ db, clock }: Services) => {
  const idOf = async (account: string, printed: string): Promise<store.EventRow> => {
    const id = parse('EVT', printed)
    return (id && (await store.find(db, account, id))) || refuse(refusals.eventNotFound(printed))
  }

  const channelsOf = async (account: string, printed: string): Promise<string[]> => {
    for (const kind of ['SMS', 'DID', 'WPN'] as const) {
      const id = parse(kind, printed)
      const found = id === null ? [] : await store.channelIds(db, account, kind, id)
      if (found.length > 0) return found
    }
    throw msgappRefusals.unknownChannel(printed)
  }

  return [
    route(c.listEvents, async ({ query, ...call }) => {
      const { account } = call
      const limit = query.results_per_page ?? 50
      const [since, until] = [dateOf(query.since), dateOf(query.until)]
      const after = query.after === undefined ? null : (await idOf(account.id, query.after)).id
      const from = cursors.read(query.cursor)?.id ?? null
      // Ids contain the time of the machine, which the sandbox does not move.
      const first = since && firstIdAt(since.getTime() - clock.offset() * 1000 - clockSkewMs)
      const end = until && firstIdAt(until.getTime() + clockSkewMs)
      const isOldestFirst = after !== null
      const above = [first, after, isOldestFirst ? from : null].filter((id) => id !== null).toSorted()
      const below = [end, isOldestFirst ? null : from].filter((id) => id !== null).toSorted()
      const filter: store.EventFilter = {
        name: query.name === undefined ? null : requireEventName(query.name),
        channels: query.channel_uuid === undefined ? null : await channelsOf(account.id, query.channel_uuid),
        conversation:
          query.conversation === undefined ? null : await conversationEvents(db, account.id, query.conversation),
        ...{ since, until, isOldestFirst },
        above: above.at(-1) ?? store.least,
        below: below[0] ?? store.greatest,
      }
      const found = await store.page(db, account.id, filter, limit + 1)
      const rows = found.slice(0, limit)
      const last = found.length > limit ? (rows.at(-1)?.id ?? null) : await store.lastExamined(db, account.id, filter)
      const contents = await contentsOf(db, call)
      return ok({
        count: rows.length,
        events: rows.map((row) => presentEvent(row, contents)),
        ...(last === null
          ? {}
          : { next_cursor: cursors.write({ time: new Date(timeOf(last)).toISOString(), id: last }) }),
      })
    }),

    route(c.getEvent, async ({ params, ...call }) => {
      const { account } = call
      const row = await idOf(account.id, params.event_uuid)
      const deliveries = await deliveriesOf(db, account.id, [row])
      return ok({
        event: presentEvent(row, await contentsOf(db, call)),
        deliveries: deliveries.map(presentDelivery),
        ...presentTimeline(
          [{ at: row.created_at, what: 'recorded', text: `${row.name} occurred` }, ...attemptFacts(deliveries)],
          verdictOf(deliveries),
        ),
      })
    }),
  ]
}
