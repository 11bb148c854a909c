import type { Sql } from '../../../platform/db/sql.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { checkFields } from '../../../platform/http/unknown-fields.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { type Clock, iso } from '../../../platform/lib/clock.ts'
import { isCursorTime, readParts, writeParts } from '../../../platform/lib/cursor.ts'
import { greatestId, idAt, parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { showsWhole } from '../../events/contents/ops.ts'
import { requireSubscribable } from '../../events/ops.ts'
import { contentsOf } from '../../inbox/narrowing/ops.ts'
import { getReplay, listDeliveries, redeliver, replayWebhook } from '../contract.ts'
import { parseDelivery } from '../delivery/delivery-id.ts'
import * as log from '../delivery/delivery-log-store.ts'
import { replayKind } from '../jobs.ts'
import { eventIdSlackMs, maxMergedWebhooks, maxReplayCount, maxStatsDays } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { findWebhook } from '../subscriptions/find-webhook.ts'
import { presentBody, presentDelivery } from '../subscriptions/webhook-presenter.ts'
import * as c from './contract.ts'
import { type DeliveryPosition, findDelivery, search } from './delivery-search-store.ts'
import * as replays from './replay-store.ts'
import { sentHeaders } from './sent-headers.ts'
import { pointsOf, stepLengths } from './stats-points.ts'
import * as stats from './stats-store.ts'

const cursors = cursorsOf(listDeliveries)
const writeCursor = ({ event, webhook }: DeliveryPosition, at: string): string =>
  writeParts(listDeliveries.id, [at, event, webhook])

/** Reads a cursor. Those of earlier versions have no webhook. */
const readCursor = (value: string | undefined): DeliveryPosition | null => {
  const [time = '', event = '', webhook = ''] =
    value === undefined ? [] : (readParts(listDeliveries.id, value, 3) ?? [])
  const position = { event: parse('EVT', print('EVT', event)), webhook: parse('WHK', print('WHK', webhook)) }
  if (position.event && position.webhook && isCursorTime(time))
    return { event: position.event, webhook: position.webhook }
  const former = cursors.read(value)
  return former && { event: former.id, webhook: greatestId }
}

const dateOf = (value: string | undefined): Date | null => (value === undefined ? null : new Date(value))

const presentReplay = (row: replays.ReplayRow) => {
  const { since, until, reached_at: reached } = row
  const part = reached === null ? 0 : (reached.getTime() - since.getTime()) / (until.getTime() - since.getTime())
  return {
    state: row.finished_at === null ? ('running' as const) : ('done' as const),
    since: iso(since),
    until: iso(until),
    only: row.resends_all ? ('all' as const) : ('missed' as const),
    sent: row.sent,
    progress: row.finished_at === null ? Math.round(Math.min(0.99, Math.max(0, part)) * 100) / 100 : 1,
    started_at: iso(row.started_at),
    ...(row.finished_at === null ? {} : { finished_at: iso(row.finished_at) }),
  }
}

/** Returns the id that precedes those of all events since that time. The platform clock may be ahead of ids. */
const idBefore = (clock: Clock, since: Date): string => idAt(since.getTime() - clock.offset() * 1000 - eventIdSlackMs)

/** Returns a webhook, or the newest webhooks with its address. */
const withEndpoint = async (db: Sql, account: string, printed: string, isEndpoint: boolean, event: string | null) => {
  const row = await findWebhook(db, account, printed)
  if (isEndpoint) return store.listByAddress(db, account, row.hook_url, { event, limit: maxMergedWebhooks })
  return event === null || event === row.event ? [row] : []
}

const deliveryRoutes = ({ db, seal, clock, config: { msgappName } }: Services) => [
  route(listDeliveries, async ({ params, query, ...call }) => {
    const { account } = call
    const limit = query.results_per_page ?? query.per_page ?? 50
    const before = readCursor(query.cursor)
    const event = query.event_name === undefined ? null : requireSubscribable(query.event_name).name
    const rows = await withEndpoint(db, account.id, params.webhook_uuid, query.endpoint === 'true', event)
    const webhooks = new Map(rows.map((row) => [row.id, row]))
    const [since, until] = [dateOf(query.since), dateOf(query.until)]
    const filter = {
      state: query.state ?? ('any' as const),
      since,
      until,
      firstId: since && idBefore(clock, since),
      lastId: until && idAt(until.getTime() + eventIdSlackMs),
      status: query.status_code ?? null,
      minLatency: query.min_latency_ms ?? null,
    }
    const page =
      rows.length === 0
        ? { rows: [], next: null }
        : await search(db, account.id, [...webhooks.keys()], filter, { before, limit })
    const contents = await contentsOf(db, call)
    return ok({
      count: page.rows.length,
      deliveries: page.rows.flatMap((one) => {
        const row = webhooks.get(one.webhook_id)
        return row ? [presentDelivery(row, one, { contents, msgappName })] : []
      }),
      ...(page.next ? { next_cursor: writeCursor(page.next, iso(clock.now())) } : {}),
    })
  }),

  route(c.getDelivery, async ({ params, ...call }) => {
    const { account } = call
    const unknown = () => refuse(refusals.unknownDelivery(params.delivery_id))
    const { webhook, event } = parseDelivery(params.delivery_id) ?? unknown()
    const row = (await store.find(db, account.id, webhook)) ?? unknown()
    const delivery = (await findDelivery(db, account.id, webhook, event)) ?? unknown()
    const contents = await contentsOf(db, call)
    const body = presentBody(row, delivery, { contents, msgappName })
    // A signature would let a reader with the secret confirm a guess of the masked text.
    const sent = { event, body: showsWhole(row.event, contents) ? body : null, open: seal.open }
    return ok({
      delivery: presentDelivery(row, delivery, { contents, msgappName }),
      request: {
        method: 'POST' as const,
        body,
        attempts: delivery.attempts.map((attempt) => ({ headers: sentHeaders(row, sent, attempt) })),
      },
    })
  }),

  route(redeliver, async ({ params, tx, ...call }) => {
    const { account } = call
    const unknown = () => refuse(refusals.unknownDelivery(params.delivery_id))
    const { webhook, event } = parseDelivery(params.delivery_id) ?? unknown()
    const row = (await store.find(tx, account.id, webhook)) ?? unknown()
    const delivery = (await log.redeliver(tx, account.id, webhook, event)) ?? unknown()
    if (!row.enabled) throw refusals.webhookDisabled(print('WHK', webhook))
    return ok({ delivery: presentDelivery(row, delivery, { contents: await contentsOf(tx, call), msgappName }) })
  }),
]

/** Replays and statistics of webhooks. */
const replayRoutes = ({ db, clock }: Services) => [
  route(replayWebhook, async ({ account, params, body, tx }) => {
    // Without fields all missed events of a pause are sent: a mistyped dry_run or until sends none.
    const { since: from, until: to, only, dry_run } = body
    if ([from, to, only, dry_run].every((field) => field === undefined)) checkFields(replayWebhook.body, body)
    const row = await findWebhook(tx, account.id, params.webhook_uuid)
    // Events missed in a pause may be counted before it ends.
    if (!row.enabled && body.dry_run !== true) throw refusals.webhookDisabled(params.webhook_uuid)
    const since = dateOf(body.since) ?? row.disabled_at ?? refuse(refusals.sinceMissing(params.webhook_uuid))
    const until = new Date(Math.min(body.until ? Date.parse(body.until) : clock.now(), clock.now()))
    if (until <= since) throw refusals.badPeriod()
    const place = { account: account.id, webhook: row.id, all: body.only === 'all', after: idBefore(clock, since) }
    if (body.dry_run === true) {
      const { count, has_more: hasMore } = await replays.count(tx, { ...place, since, until })
      return ok({
        count: Math.min(count, maxReplayCount),
        ...(hasMore || count > maxReplayCount ? { count_capped: true as const } : {}),
      })
    }
    const job = { ...place, since, until, replay: uuid() }
    const begun = await replays.begin(tx, job, job)
    await enqueue(tx, replayKind, job, { account: account.id })
    return ok({ replay: presentReplay(begun) })
  }),

  route(getReplay, async ({ account, params }) => {
    const { id } = await findWebhook(db, account.id, params.webhook_uuid)
    const row = await replays.find(db, account.id, id)
    return ok(row ? { replay: presentReplay(row) } : {})
  }),

  route(c.getWebhookStats, async ({ account, params, query }) => {
    const step = query.step ?? 'hour'
    const until = dateOf(query.until) ?? new Date(clock.now())
    const length = step === 'hour' ? stepLengths.day : 30 * stepLengths.day
    const start = (dateOf(query.since) ?? new Date(until.getTime() - length)).getTime()
    const since = new Date(Math.floor(start / stepLengths[step]) * stepLengths[step])
    if (until <= since) throw refusals.badPeriod()
    const days = maxStatsDays[step]
    if (until.getTime() - start > days * stepLengths.day) throw refusals.periodTooLong(step, days)
    const rows = await withEndpoint(db, account.id, params.webhook_uuid, query.endpoint === 'true', null)
    const webhooks = rows.map(({ id }) => id)
    return ok(pointsOf(await stats.find(db, account.id, webhooks, { since, until }), step))
  }),
]

export const webhookHistoryRoutes = (parts: Services) => [...deliveryRoutes(parts), ...replayRoutes(parts)]
