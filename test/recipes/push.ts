import assert from 'node:assert/strict'
import { createECDH, randomBytes, randomUUID } from 'node:crypto'
import { member } from '../persons.ts'
import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const signedIn = ({ world, tenant }: Scene) =>
  member(world, tenant, 'agent', `${unique('push').replace(' ', '.')}@example.com`)

/** The subscription of a browser. The name of its push service resolves nowhere. */
const browser = () => {
  const pair = createECDH('prime256v1')
  pair.generateKeys()
  const keys = { p256dh: pair.getPublicKey('base64url'), auth: randomBytes(16).toString('base64url') }
  return { endpoint: `https://push.invalid/${randomUUID()}`, keys }
}

const subscribed = async (scene: Scene) => {
  const { cookie, call } = await signedIn(scene)
  const made = await call('POST', '/open/me/push-subscriptions', browser())
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { cookie, params: { push_subscription_uuid: String(made.body.subscription.uuid) } }
}

const missing = () => ({ params: { push_subscription_uuid: `PSH${randomUUID()}` } })

export const pushRecipes: Recipes = {
  listPushSubscriptions: { ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }), conflict: () => ({}) },
  createPushSubscription: {
    ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie, body: browser() }),
    conflict: () => ({ body: browser() }),
  },
  deletePushSubscription: {
    ok: subscribed,
    notFound: async (scene) => ({ cookie: (await signedIn(scene)).cookie, ...missing() }),
    conflict: missing,
  },
  testPushSubscription: {
    ok: subscribed,
    notFound: async (scene) => ({ cookie: (await signedIn(scene)).cookie, ...missing() }),
    conflict: missing,
  },
}
