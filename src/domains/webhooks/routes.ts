import { sqlState, type Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route, routeWithPreparation } from '../../platform/http/endpoint.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { makeSigningSecret } from '../../platform/lib/webhook-signature.ts'
import type { Services } from '../../services.ts'
import { recordFor } from '../events/ops.ts'
import { contentsOf } from '../inbox/narrowing/ops.ts'
import * as c from './contract.ts'
import { printDelivery } from './delivery/delivery-id.ts'
import { maxTestPayloadBytes } from './limits.ts'
import { exampleFor } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { checkContents } from './subscriptions/check-contents.ts'
import { findEnabledWebhook, findWebhook } from './subscriptions/find-webhook.ts'
import { type HeadersRequest, setsHeaders } from './subscriptions/request-headers.ts'
import { changedHeaders, channelBy, checkAddress, subscribe } from './subscriptions/subscribe.ts'
import { presentListed, presentWebhook } from './subscriptions/webhook-presenter.ts'

const printed = (rows: readonly store.WebhookRow[]): string[] => rows.map(({ id }) => print('WHK', id))

/** @throws the 400 Problem if the name is not that of the webhook's event */
const checkEvent = (row: store.WebhookRow, field: string, value: unknown): void => {
  if (value === undefined || value === row.event || value === row.event_name) return
  throw refusals.eventMismatch(field, String(value).slice(0, 60), row.event_name)
}

/** Returns the payload of a test, marked as one. @throws the 400 Problem */
const checkedPayload = (row: store.WebhookRow, value: object) => {
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > maxTestPayloadBytes) throw refusals.payloadTooLarge(bytes, maxTestPayloadBytes)
  const payload: { readonly [key: string]: unknown } = { ...value, test: true }
  checkEvent(row, 'payload.event', payload.event)
  return payload
}

/** Returns the audited fields of a request that sets headers: no value of them. */
const auditedHeaders = (body: HeadersRequest) => (setsHeaders(body) ? { request_headers: 'changed' } : {})

/** Returns the webhook, or all with its address, locked. */
const targetsOf = async (tx: Tx, row: store.WebhookRow, isEndpoint: boolean): Promise<readonly store.WebhookRow[]> =>
  isEndpoint ? store.lockByAddress(tx, row.account_id, row.hook_url) : store.lock(tx, row.account_id, row.id)

/** Subscribing, and changes of webhooks. */
const subscriptionRoutes = (parts: Services) => {
  const { seal, outbound, changes, config, quotas } = parts

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
      async ({ params, body, reply, tx, prepared, audit, ...call }) => {
        const { account, request } = call
        assertMayMake(request, { kind: 'webhook' })
        // Aliases in the path were translated at the edge; payloads use the spelling of the subscription.
        const requestedName = decodeURIComponent(
          request.originalUrl.split('?', 1)[0]?.replace(/\/$/, '').split('/').at(-1) ?? '',
        )
        const msgappName = requestedName === params.event_name ? null : config.msgappName
        const names = { spelt: params.event_name, msgappName }
        const caller = { account: account.id, contents: await contentsOf(tx, call) }
        const { row, isNew, wasEnabled } = await subscribe(tx, seal, caller, names, body, prepared)
        if (!wasEnabled) await checkQuota(tx, account)
        const { uuid: target, ...after } = presentWebhook(row)
        await audit(tx, { target, after: isNew ? after : { enabled: true, ...auditedHeaders(body) } })
        if (!isNew) {
          reply.code(200)
          await announce(tx)
        }
        return ok({ data: { ...presentWebhook(row), signing_secret: seal.open(row.sealed_secret) } })
      },
    ),

    routeWithPreparation(c.changeWebhook, judgeAddress, async ({ params, body, tx, prepared, audit, ...call }) => {
      const { account } = call
      const { hook_url: url = null, enabled: isEnabled = null } = body
      checkAddress(prepared)
      const before = await findWebhook(tx, account.id, params.webhook_uuid)
      const targets = await targetsOf(tx, before, body.endpoint === true)
      const contents = await contentsOf(tx, call)
      for (const one of targets)
        if ((url !== null && url !== one.hook_url) || (isEnabled === true && !one.enabled))
          checkContents(one.event, contents)
      let row: store.WebhookRow | null = null
      for (const one of targets) {
        const { id } = one
        const headers = changedHeaders(seal, one, body, url !== null && url !== one.hook_url)
        const change = { url, enabled: isEnabled, ...headers }
        const changed = await store.change(tx, account.id, id, change).catch((error: unknown) => {
          if (sqlState(error) !== '23505') throw error
          throw refusals.webhookExists()
        })
        if (id === before.id) row = changed
      }
      if (!row) throw refusals.unknownWebhook(params.webhook_uuid)
      if (isEnabled) await checkQuota(tx, account)
      await audit(tx, {
        target: printed(targets),
        before: presentWebhook(before),
        after: { ...presentWebhook(row), ...auditedHeaders(body) },
      })
      await announce(tx)
      return ok({ webhook: presentWebhook(row) })
    }),

    route(c.deleteWebhook, async ({ account, params, query, tx, audit }) => {
      const before = await findWebhook(tx, account.id, params.webhook_uuid)
      const targets = await targetsOf(tx, before, query.endpoint === 'true')
      let removed = 0
      for (const { id } of targets) removed += await store.remove(tx, account.id, id)
      if (removed === 0) throw refusals.unknownWebhook(params.webhook_uuid)
      await audit(tx, { target: printed(targets), before: presentWebhook(before) })
      await announce(tx)
      return ok({})
    }),

    route(c.rotateWebhookSecret, async ({ account, params, body, request, tx, audit }) => {
      assertMayMake(request, { kind: 'webhook' })
      const before = await findWebhook(tx, account.id, params.webhook_uuid)
      const targets = await targetsOf(tx, before, body.endpoint === true)
      const secret = makeSigningSecret()
      const sealed = seal.close(secret)
      let until: Date | null = null
      for (const { id } of targets)
        until = (await store.rotateSecret(tx, account.id, id, sealed))?.previous_until ?? until
      if (until === null) throw refusals.unknownWebhook(params.webhook_uuid)
      await audit(tx, {
        target: printed(targets),
        after: { signing_secret: 'new', previous_secret_valid_until: iso(until) },
      })
      await announce(tx)
      return ok({ signing_secret: secret, previous_secret_valid_until: iso(until) })
    }),
  ]
}

/** Lists and tests of webhooks. */
const webhookViewRoutes = ({ db, clock }: Services) => [
  route(c.listWebhooks, async ({ account, query }) => {
    const { enabled = 'true' } = query
    const rows = await store.list(db, account.id, enabled === 'any' ? null : enabled === 'true')
    return ok({ webhooks: rows.map(presentListed) })
  }),

  route(c.listChannelWebhooks, async ({ account, params }) => {
    const { kind, id } = await channelBy(db, account.id, params.channel_uuid, 'account')
    const rows = await store.listByChannel(db, account.id, kind, id)
    return ok({ webhooks: rows.map(presentWebhook) })
  }),

  route(c.getWebhook, async ({ account, params }) => {
    const row = await findWebhook(db, account.id, params.webhook_uuid)
    const until = row.previous_until
    return ok({
      webhook: {
        ...presentListed(row),
        ...(until && until.getTime() > clock.now() ? { previous_secret_valid_until: iso(until) } : {}),
      },
    })
  }),

  route(c.testWebhook, async ({ account, params, body, tx }) => {
    const row = await findEnabledWebhook(db, account.id, params.webhook_uuid)
    const own = body.payload === undefined ? null : checkedPayload(row, body.payload)
    checkEvent(row, 'event_name', body.event_name)
    const example = { name: row.event, channel: row.match_id, group: row.to_group }
    const payload = own ?? (await exampleFor(tx, account.id, example)).payload
    const event = await recordFor(tx, row.id, {
      account: account.id,
      name: row.event,
      channel: row.match_id,
      conversation: `test ${row.id}`,
      payload,
    })
    return ok({ delivery_id: printDelivery({ webhook: row.id, event }) })
  }),

  route(c.showWebhooks, async () => {
    const { oldest_seconds, ...totals } = await store.totals(db)
    const rows = await store.findFailing(db)
    return ok({
      ...totals,
      oldest_pending_seconds: Math.floor(oldest_seconds),
      webhooks: rows.map((row) => ({
        ...presentListed(row),
        account_uuid: print('ACC', row.account_id),
        pending: row.pending,
      })),
    })
  }),
]

export const webhookRoutes = (parts: Services) => [...subscriptionRoutes(parts), ...webhookViewRoutes(parts)]
