import { sqlState, type Tx } from '../db/sql.ts'
import { exampleBy, recordFor } from '../events/ops.ts'
import type { Account } from '../http/auth.ts'
import { cursorsOf } from '../http/cursor.ts'
import { ok, serve, serveAfter } from '../http/endpoint.ts'
import { conflict, invalid, notFound } from '../http/problem.ts'
import { enqueue } from '../jobs/queue.ts'
import { iso } from '../lib/clock.ts'
import { parse, print, uuid } from '../lib/id.ts'
import { makeSecret } from '../lib/signature.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { parseDelivery, printDelivery } from './ids.ts'
import { replayKind } from './jobs.ts'
import * as log from './log.ts'
import { shownCondition, shownDelivery, shownWebhook } from './shown.ts'
import * as store from './store.ts'
import { admitAddress, channelBy, subscribe } from './subscribe.ts'

/** The least id of anything made at that time, in Unix milliseconds (RFC 9562, 5.7). */
const idAt = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0').slice(-12)
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const cursors = cursorsOf(c.listDeliveries)

export const webhookRoutes = (parts: Parts) => {
  const { db, seal, outbound, changes, clock, config, quotas } = parts
  const unknown = (printed: string) => notFound(`Webhook ${printed} does not exist`)

  const find = async (account: string, printed: string) => {
    const id = parse('WHK', printed)
    return (id && (await store.one(db, account, id))) || unknown(printed)
  }
  const enabled = async (account: string, printed: string) => {
    const row = await find(account, printed)
    return row.enabled ? row : conflict(`Webhook ${printed} is disabled: enable it first`, 'webhook_disabled')
  }
  /** Why an address must not be called. Its name may take as long to resolve as its owner likes. */
  const judged = async ({ body, request }: { body: { hook_url?: string }; request: { isSandbox: boolean } }) =>
    body.hook_url === undefined ? null : await outbound.of(request.isSandbox).judge(body.hook_url)
  const checkQuota = (tx: Tx, account: Account) =>
    quotas.check(tx, account, 'webhooks', () => store.countUsed(tx, account.id))
  const announce = (tx: Tx) => changes.announce(tx, 'webhooks')

  return [
    serveAfter(c.subscribeWebhook, judged, async ({ account, params, body, request, reply, tx, prepared, audit }) => {
      // The path was translated at the edge; a webhook is told in the spelling in which it was asked for.
      const asked = decodeURIComponent(request.originalUrl.split('?', 1)[0]?.replace(/\/$/, '').split('/').at(-1) ?? '')
      const msgappName = asked === params.event_name ? null : config.msgappName
      const names = { spelt: params.event_name, msgappName }
      const { row, isNew, wasEnabled } = await subscribe(tx, seal, account.id, names, body, prepared)
      if (!wasEnabled) await checkQuota(tx, account)
      const { uuid: target, ...after } = shownWebhook(row)
      await audit(tx, { target, after: isNew ? after : { enabled: true } })
      if (!isNew) {
        reply.code(200)
        await announce(tx)
      }
      return ok({ data: { ...shownWebhook(row), signing_secret: seal.open(row.sealed_secret) } })
    }),

    serve(c.listWebhooks, async ({ account }) => {
      const rows = await store.list(db, account.id)
      return ok({ webhooks: rows.map(shownWebhook) })
    }),

    serve(c.listChannelWebhooks, async ({ account, params }) => {
      const { kind, id } = await channelBy(db, account.id, params.channel_uuid, 'account')
      const rows = await store.ofChannel(db, account.id, kind, id)
      return ok({ webhooks: rows.map(shownWebhook) })
    }),

    serve(c.getWebhook, async ({ account, params }) => {
      const row = await find(account.id, params.webhook_uuid)
      const until = row.previous_until
      return ok({
        webhook: {
          ...shownWebhook(row),
          ...shownCondition(row),
          ...(until && until.getTime() > clock.now() ? { previous_secret_valid_until: iso(until) } : {}),
        },
      })
    }),

    serveAfter(c.changeWebhook, judged, async ({ account, params, body, tx, prepared, audit }) => {
      const id = parse('WHK', params.webhook_uuid) ?? unknown(params.webhook_uuid)
      const { hook_url: url = null, enabled: isEnabled = null } = body
      admitAddress(prepared)
      const before = (await store.one(tx, account.id, id)) ?? unknown(params.webhook_uuid)
      const row = await store.change(tx, account.id, id, { url, enabled: isEnabled }).catch((error: unknown) => {
        if (sqlState(error) !== '23505') throw error
        return conflict('Another webhook is subscribed to the same with this hook_url', 'webhook_exists')
      })
      if (!row) return unknown(params.webhook_uuid)
      if (isEnabled) await checkQuota(tx, account)
      await audit(tx, { before: shownWebhook(before), after: shownWebhook(row) })
      await announce(tx)
      return ok({ webhook: shownWebhook(row) })
    }),

    serve(c.deleteWebhook, async ({ account, params, tx, audit }) => {
      const id = parse('WHK', params.webhook_uuid)
      const before = (id && (await store.one(tx, account.id, id))) || unknown(params.webhook_uuid)
      if ((await store.remove(tx, account.id, before.id)) === 0) unknown(params.webhook_uuid)
      await audit(tx, { before: shownWebhook(before) })
      await announce(tx)
      return ok({})
    }),

    serve(c.rotateWebhookSecret, async ({ account, params, tx, audit }) => {
      const id = parse('WHK', params.webhook_uuid)
      const secret = makeSecret()
      const row = (id && (await store.rotate(tx, account.id, id, seal.close(secret)))) || unknown(params.webhook_uuid)
      await audit(tx, { after: { signing_secret: 'new', previous_secret_valid_until: iso(row.previous_until) } })
      await announce(tx)
      return ok({ signing_secret: secret, previous_secret_valid_until: iso(row.previous_until) })
    }),

    serve(c.listDeliveries, async ({ account, params, query }) => {
      const row = await find(account.id, params.webhook_uuid)
      const limit = query.results_per_page ?? query.per_page ?? 50
      const after = cursors.read(query.cursor)
      const state = query.state ?? 'any'
      const rows = await log.page(db, account.id, row.id, { state, before: after?.id ?? null, limit: limit + 1 })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const next = rows.length > limit && last ? { time: iso(last.created_at), id: last.event_id } : null
      return ok({
        count: page.length,
        deliveries: page.map((one) => shownDelivery(row, one)),
        ...(next ? { next_cursor: cursors.write(next) } : {}),
      })
    }),

    serve(c.testWebhook, async ({ account, params, tx }) => {
      const row = await enabled(account.id, params.webhook_uuid)
      const event = await recordFor(tx, row.id, {
        account: account.id,
        name: row.event,
        channel: row.channel_id,
        conversation: `test ${row.id}`,
        payload: { ...exampleBy(row.event, uuid(), clock.now()), test: true },
      })
      return ok({ delivery_id: printDelivery({ webhook: row.id, event }) })
    }),

    serve(c.redeliver, async ({ account, params, tx }) => {
      const missing = () => notFound(`Delivery ${params.delivery_id} does not exist`)
      const { webhook, event } = parseDelivery(params.delivery_id) ?? missing()
      const row = (await store.one(tx, account.id, webhook)) ?? missing()
      const delivery = (await log.again(tx, account.id, webhook, event)) ?? missing()
      if (!row.enabled) conflict(`Webhook ${print('WHK', webhook)} is disabled: enable it first`, 'webhook_disabled')
      return ok({ delivery: shownDelivery(row, delivery) })
    }),

    serve(c.replayWebhook, async ({ account, params, body, tx }) => {
      const row = await enabled(account.id, params.webhook_uuid)
      const since = new Date(body.since)
      const until = new Date(Math.min(body.until ? Date.parse(body.until) : clock.now(), clock.now()))
      if (until <= since) invalid('until must be later than since, and since must be in the past')
      // Ids hold the real time, and the platform's may be ahead of it.
      const after = idAt(since.getTime() - clock.offset() * 1000 - 60_000)
      const replay = { account: account.id, webhook: row.id, since, until, all: body.only === 'all', after }
      await enqueue(tx, replayKind, replay, { account: account.id })
      return ok({})
    }),

    serve(c.showWebhooks, async () => {
      const { oldest_seconds, ...totals } = await store.totals(db)
      const rows = await store.troubled(db)
      return ok({
        ...totals,
        oldest_pending_seconds: Math.floor(oldest_seconds),
        webhooks: rows.map((row) => ({
          ...shownWebhook(row),
          account_uuid: print('ACC', row.account_id),
          pending: row.pending,
          ...shownCondition(row),
        })),
      })
    }),
  ]
}
