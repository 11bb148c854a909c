import { sqlState, type Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { cursorsOf } from '../../platform/http/cursor.ts'
import { ok, route, routeWithPreparation } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { makeSigningSecret } from '../../platform/lib/webhook-signature.ts'
import type { Services } from '../../services.ts'
import { recordFor } from '../events/ops.ts'
import * as c from './contract.ts'
import { parseDelivery, printDelivery } from './delivery/delivery-id.ts'
import * as log from './delivery/delivery-log-store.ts'
import { replayKind } from './jobs.ts'
import { exampleFor } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { channelBy, checkAddress, subscribe } from './subscriptions/subscribe.ts'
import { presentDelivery, presentHealth, presentWebhook } from './subscriptions/webhook-presenter.ts'

/** The smallest id of a row created at that time, in Unix milliseconds (RFC 9562, 5.7). */
const idAt = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0').slice(-12)
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const cursors = cursorsOf(c.listDeliveries)

export const webhookRoutes = (parts: Services) => {
  const { db, seal, outbound, changes, clock, config, quotas } = parts

  const find = async (account: string, printed: string) => {
    const id = parse('WHK', printed)
    return (id && (await store.find(db, account, id))) || refuse(refusals.unknownWebhook(printed))
  }
  const findEnabled = async (account: string, printed: string) => {
    const row = await find(account, printed)
    return row.enabled ? row : refuse(refusals.webhookDisabled(printed))
  }
  /**
   * Returns why an address must not be called. Runs outside the transaction: resolving a host name may take
   * arbitrarily long.
   */
  const judgeAddress = async ({ body, request }: { body: { hook_url?: string }; request: { isSandbox: boolean } }) =>
    body.hook_url === undefined ? null : await outbound.of(request.isSandbox).check(body.hook_url)
  const checkQuota = (tx: Tx, account: Account) =>
    quotas.check(tx, account, 'webhooks', () => store.countUsed(tx, account.id))
  const announce = (tx: Tx) => changes.invalidate(tx, 'webhooks')

  return [
    routeWithPreparation(
      c.subscribeWebhook,
      judgeAddress,
      async ({ account, params, body, request, reply, tx, prepared, audit }) => {
        // Aliases in the path were translated at the edge; payloads use the spelling of the subscription.
        const asked = decodeURIComponent(
          request.originalUrl.split('?', 1)[0]?.replace(/\/$/, '').split('/').at(-1) ?? '',
        )
        const msgappName = asked === params.event_name ? null : config.msgappName
        const names = { spelt: params.event_name, msgappName }
        const { row, isNew, wasEnabled } = await subscribe(tx, seal, account.id, names, body, prepared)
        if (!wasEnabled) await checkQuota(tx, account)
        const { uuid: target, ...after } = presentWebhook(row)
        await audit(tx, { target, after: isNew ? after : { enabled: true } })
        if (!isNew) {
          reply.code(200)
          await announce(tx)
        }
        return ok({ data: { ...presentWebhook(row), signing_secret: seal.open(row.sealed_secret) } })
      },
    ),

    route(c.listWebhooks, async ({ account }) => {
      const rows = await store.list(db, account.id)
      return ok({ webhooks: rows.map(presentWebhook) })
    }),

    route(c.listChannelWebhooks, async ({ account, params }) => {
      const { kind, id } = await channelBy(db, account.id, params.channel_uuid, 'account')
      const rows = await store.listByChannel(db, account.id, kind, id)
      return ok({ webhooks: rows.map(presentWebhook) })
    }),

    route(c.getWebhook, async ({ account, params }) => {
      const row = await find(account.id, params.webhook_uuid)
      const until = row.previous_until
      return ok({
        webhook: {
          ...presentWebhook(row),
          ...presentHealth(row),
          ...(until && until.getTime() > clock.now() ? { previous_secret_valid_until: iso(until) } : {}),
        },
      })
    }),

    routeWithPreparation(c.changeWebhook, judgeAddress, async ({ account, params, body, tx, prepared, audit }) => {
      const id = parse('WHK', params.webhook_uuid) ?? refuse(refusals.unknownWebhook(params.webhook_uuid))
      const { hook_url: url = null, enabled: isEnabled = null } = body
      checkAddress(prepared)
      const before = (await store.find(tx, account.id, id)) ?? refuse(refusals.unknownWebhook(params.webhook_uuid))
      const row = await store.change(tx, account.id, id, { url, enabled: isEnabled }).catch((error: unknown) => {
        if (sqlState(error) !== '23505') throw error
        throw refusals.webhookExists()
      })
      if (!row) throw refusals.unknownWebhook(params.webhook_uuid)
      if (isEnabled) await checkQuota(tx, account)
      await audit(tx, { before: presentWebhook(before), after: presentWebhook(row) })
      await announce(tx)
      return ok({ webhook: presentWebhook(row) })
    }),

    route(c.deleteWebhook, async ({ account, params, tx, audit }) => {
      const id = parse('WHK', params.webhook_uuid)
      const before =
        (id && (await store.find(tx, account.id, id))) || refuse(refusals.unknownWebhook(params.webhook_uuid))
      if ((await store.remove(tx, account.id, before.id)) === 0) throw refusals.unknownWebhook(params.webhook_uuid)
      await audit(tx, { before: presentWebhook(before) })
      await announce(tx)
      return ok({})
    }),

    route(c.rotateWebhookSecret, async ({ account, params, tx, audit }) => {
      const id = parse('WHK', params.webhook_uuid)
      const secret = makeSigningSecret()
      const row =
        (id && (await store.rotateSecret(tx, account.id, id, seal.close(secret)))) ||
        refuse(refusals.unknownWebhook(params.webhook_uuid))
      await audit(tx, { after: { signing_secret: 'new', previous_secret_valid_until: iso(row.previous_until) } })
      await announce(tx)
      return ok({ signing_secret: secret, previous_secret_valid_until: iso(row.previous_until) })
    }),

    route(c.listDeliveries, async ({ account, params, query }) => {
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
        deliveries: page.map((one) => presentDelivery(row, one)),
        ...(next ? { next_cursor: cursors.write(next) } : {}),
      })
    }),

    route(c.testWebhook, async ({ account, params, tx }) => {
      const row = await findEnabled(account.id, params.webhook_uuid)
      const { payload } = await exampleFor(tx, account.id, {
        name: row.event,
        channel: row.match_id,
        group: row.to_group,
      })
      const event = await recordFor(tx, row.id, {
        account: account.id,
        name: row.event,
        channel: row.match_id,
        conversation: `test ${row.id}`,
        payload,
      })
      return ok({ delivery_id: printDelivery({ webhook: row.id, event }) })
    }),

    route(c.redeliver, async ({ account, params, tx }) => {
      const { webhook, event } =
        parseDelivery(params.delivery_id) ?? refuse(refusals.unknownDelivery(params.delivery_id))
      const row = (await store.find(tx, account.id, webhook)) ?? refuse(refusals.unknownDelivery(params.delivery_id))
      const delivery =
        (await log.redeliver(tx, account.id, webhook, event)) ?? refuse(refusals.unknownDelivery(params.delivery_id))
      if (!row.enabled) throw refusals.webhookDisabled(print('WHK', webhook))
      return ok({ delivery: presentDelivery(row, delivery) })
    }),

    route(c.replayWebhook, async ({ account, params, body, tx }) => {
      const row = await findEnabled(account.id, params.webhook_uuid)
      const since = new Date(body.since)
      const until = new Date(Math.min(body.until ? Date.parse(body.until) : clock.now(), clock.now()))
      if (until <= since) throw refusals.badPeriod()
      // Ids contain the real time; the platform clock may be ahead of it.
      const after = idAt(since.getTime() - clock.offset() * 1000 - 60_000)
      const replay = { account: account.id, webhook: row.id, since, until, all: body.only === 'all', after }
      await enqueue(tx, replayKind, replay, { account: account.id })
      return ok({})
    }),

    route(c.showWebhooks, async () => {
      const { oldest_seconds, ...totals } = await store.totals(db)
      const rows = await store.findFailing(db)
      return ok({
        ...totals,
        oldest_pending_seconds: Math.floor(oldest_seconds),
        webhooks: rows.map((row) => ({
          ...presentWebhook(row),
          account_uuid: print('ACC', row.account_id),
          pending: row.pending,
          ...presentHealth(row),
        })),
      })
    }),
  ]
}
