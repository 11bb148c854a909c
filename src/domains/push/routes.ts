import type { FastifyRequest } from 'fastify'
import { ok, route, routeWithPreparation } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { storable } from '../../platform/lib/storable.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { maxUserAgentLength } from './limits.ts'
import { areBrowserKeys } from './message-encryption.ts'
import { type DeliverPayload, deliverKind } from './ops.ts'
import { makePushKeys } from './push-keys.ts'
import { endpointHash, sealTarget } from './push-target.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const present = (row: store.SubscriptionRow) => ({
  uuid: print('PSH', row.id),
  user_agent: row.user_agent,
  created_at: iso(row.created_at),
  ...(row.delivered_at ? { delivered_at: iso(row.delivered_at) } : {}),
  ...(row.failed_at ? { failed_at: iso(row.failed_at), failure: row.failure ?? '' } : {}),
})

/** Returns the person of a request. @throws Problem 409 for a key */
const personOf = ({ session }: FastifyRequest): { readonly person: string; readonly session: string } =>
  session?.person ? { person: session.person.id, session: session.id } : refuse(refusals.noPerson())

export const pushRoutes = ({ db, seal, outbound, publicUrl, config }: Services) => {
  const keys = makePushKeys(db, seal, () => config.pushContact ?? publicUrl())

  return [
    route(c.listPushSubscriptions, async ({ request }) => {
      const { person } = personOf(request)
      return ok({
        public_key: await db.begin((tx) => keys.publicKey(tx)),
        subscriptions: (await store.ofPerson(db, person)).map(present),
      })
    }),

    routeWithPreparation(
      c.createPushSubscription,
      async ({ body, request }) => {
        personOf(request)
        const fault = await outbound.of(request.isSandbox).check(body.endpoint)
        if (fault) throw refusals.endpointRefused(fault)
      },
      async ({ account, body, request, tx }) => {
        const { person, session } = personOf(request)
        const browser = {
          p256dh: Buffer.from(body.keys.p256dh, 'base64url'),
          auth: Buffer.from(body.keys.auth, 'base64url'),
        }
        if (!areBrowserKeys(browser)) throw refusals.badKeys()
        // Messages are signed with it.
        await keys.publicKey(tx)
        const hash = endpointHash(body.endpoint)
        const id = (await store.findByEndpoint(tx, person, hash))?.id ?? uuid()
        const row = await store.add(tx, {
          ...{ id, person, session, account: account.id },
          sealed: sealTarget(seal, id, { ...browser, endpoint: body.endpoint }),
          endpointHash: hash,
          userAgent: storable(request.headers['user-agent'] ?? '', maxUserAgentLength),
        })
        return ok({ subscription: present(row) })
      },
    ),

    route(c.deletePushSubscription, async ({ params, request, tx }) => {
      const { person } = personOf(request)
      const id = parse('PSH', params.push_subscription_uuid)
      if (!id || !(await store.remove(tx, person, id)))
        throw refusals.unknownSubscription(params.push_subscription_uuid)
      return ok({})
    }),

    route(c.testPushSubscription, async ({ account, params, request, tx }) => {
      const { person } = personOf(request)
      const id = parse('PSH', params.push_subscription_uuid)
      const found = id && (await store.find(tx, id))
      if (!found || found.person_id !== person) throw refusals.unknownSubscription(params.push_subscription_uuid)
      const payload: DeliverPayload = { subscription: found.id, kind: 'test', subject: null, item: null }
      await enqueue(tx, deliverKind, { ...payload }, { account: account.id })
      return ok({})
    }),
  ]
}
