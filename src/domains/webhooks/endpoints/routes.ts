import type { Tx } from '../../../platform/db/sql.ts'
import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { print } from '../../../platform/lib/id.ts'
import { makeSigningSecret } from '../../../platform/lib/webhook-signature.ts'
import type { Services } from '../../../services.ts'
import { contentsOf } from '../../inbox/narrowing/ops.ts'
import * as store from '../store.ts'
import { openHeaders, setsHeaders } from '../subscriptions/request-headers.ts'
import { type SharedSecrets, subscribe } from '../subscriptions/subscribe.ts'
import { presentListed, presentWebhook, type WebhookState } from '../subscriptions/webhook-presenter.ts'
import * as c from './contract.ts'

/** States of an endpoint, the one that decides first. */
const states: readonly WebhookState[] = ['failing', 'active', 'disabled', 'paused']

export const webhookEndpointRoutes = ({ db, seal, outbound, changes, config, quotas }: Services) => {
  /** Returns the secret and the headers of the newest webhook of an address, or a new secret. */
  const secretsOf = async (tx: Tx, account: string, url: string): Promise<SharedSecrets> => {
    const [newest] = await store.listByAddress(tx, account, url, { event: null, limit: 1 })
    const secret = newest
      ? {
          sealed: newest.sealed_secret,
          sealedPrevious: newest.sealed_previous_secret,
          previousUntil: newest.previous_until,
        }
      : { sealed: seal.close(makeSigningSecret()), sealedPrevious: null, previousUntil: null }
    return { secret, headers: newest ? openHeaders(seal, newest.id, newest.sealed_headers) : [] }
  }

  return [
    routeWithPreparation(
      c.createEndpoint,
      ({ body, request }) => outbound.of(request.isSandbox).check(body.hook_url),
      async ({ body, reply, tx, prepared, audit, ...call }) => {
        const { account, request } = call
        assertMayMake(request, { kind: 'webhook' })
        const { hook_url: url, event_names: eventNames, replace = false, ...subscription } = body
        const caller = { account: account.id, contents: await contentsOf(tx, call) }
        const shared = await secretsOf(tx, account.id, url)
        const created: Awaited<ReturnType<typeof subscribe>>[] = []
        for (const spelt of new Set(eventNames)) {
          const msgappName = request.spelling === 'alias' && spelt.startsWith('msgapp.') ? config.msgappName : null
          const names = { spelt, msgappName }
          const wanted = { hook_url: url, ...subscription }
          created.push(await subscribe(tx, seal, caller, names, wanted, prepared, shared))
        }
        const rows = created.map(({ row }) => row)
        const removed = replace ? await store.removeOthers(tx, account.id, rows) : []
        if (created.some(({ wasEnabled }) => !wasEnabled))
          await quotas.check(tx, account, 'webhooks', () => store.countUsed(tx, account.id))
        await audit(tx, {
          target: [...rows, ...removed].map(({ id }) => print('WHK', id)),
          ...(removed.length > 0 ? { before: { event_names: removed.map(({ event_name }) => event_name) } } : {}),
          after: {
            ...{ hook_url: url, event_names: rows.map(({ event_name }) => event_name) },
            ...(setsHeaders(body) ? { request_headers: 'changed' } : {}),
          },
        })
        await changes.invalidate(tx, 'webhooks')
        if (!created.some(({ isNew }) => isNew)) reply.code(200)
        const webhooks = rows.map(presentWebhook)
        return ok({
          endpoint_uuid: webhooks[0]?.endpoint_uuid ?? '',
          webhooks,
          signing_secret: seal.open(shared.secret.sealed),
        })
      },
    ),

    route(c.listEndpoints, async ({ account }) => {
      const rows = (await store.list(db, account.id, null)).map(presentListed)
      return ok({
        endpoints: [...Map.groupBy(rows, ({ endpoint_uuid: id }) => id)].map(([id, webhooks]) => ({
          endpoint_uuid: id,
          hook_url: webhooks[0]?.hook_url ?? '',
          state: states.find((state) => webhooks.some((one) => one.state === state)) ?? 'paused',
          webhooks,
        })),
      })
    }),
  ]
}
