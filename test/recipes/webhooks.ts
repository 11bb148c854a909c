import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

/** An address where no server answers: a sandbox account may subscribe it. */
const address = (mark: string) => `http://127.0.0.1:1024/${encodeURIComponent(unique(mark))}`

const webhook = async (scene: Scene) => ({ params: { webhook_uuid: await scene.webhook() } })

const disabled = async (scene: Scene) => {
  const webhook_uuid = await scene.webhook()
  await scene.world.call(scene.tenant, 'PUT', `/open/webhooks/${webhook_uuid}`, { enabled: false })
  return webhook_uuid
}

export const webhookRecipes: Recipes = {
  subscribeWebhook: {
    ok: async (scene) => ({
      params: { event_name: 'sms.message.received' },
      body: { hook_url: address(scene.mark), channel_uuid: (await scene.number()).channel },
    }),
    notFound: () => ({
      params: { event_name: 'sms.message.received' },
      body: { hook_url: address('nobody'), channel_uuid: 'SMS01a1fcca-93ab-7cbc-9f10-be702f775479' },
    }),
    unprocessable: () => ({
      params: { event_name: 'call.status.update' },
      body: { hook_url: address('nobody'), on_number: 'nobody' },
    }),
  },
  createEndpoint: {
    ok: async (scene) => ({
      body: {
        hook_url: address(scene.mark),
        event_names: ['contact.created', 'sms.message.received'],
        channel_uuid: (await scene.number()).channel,
      },
    }),
    notFound: () => ({
      body: {
        hook_url: address('nobody'),
        event_names: ['sms.message.received'],
        channel_uuid: 'SMS01a1fcca-93ab-7cbc-9f10-be702f775479',
      },
    }),
  },
  listEndpoints: { ok: async (scene) => scene.webhook().then(() => ({})) },
  listEventTypes: { ok: () => ({}) },
  getDelivery: { ok: async (scene) => ({ params: { delivery_id: await scene.delivery() } }) },
  getWebhookStats: { ok: webhook },
  getReplay: { ok: webhook },
  listWebhooks: {
    ok: async (scene) => scene.webhook().then(() => ({})),
    invalid: () => ({ query: { enabled: 'maybe' } }),
  },
  listChannelWebhooks: { ok: async (scene) => ({ params: { channel_uuid: (await scene.number()).channel } }) },
  getWebhook: { ok: webhook },
  changeWebhook: {
    ok: async (scene) => ({ ...(await webhook(scene)), body: { hook_url: address(scene.mark) } }),
    conflict: async (scene) => {
      const hook_url = address(scene.mark)
      await scene.world.call(scene.tenant, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url })
      return { ...(await webhook(scene)), body: { hook_url } }
    },
  },
  deleteWebhook: { ok: webhook },
  rotateWebhookSecret: { ok: webhook },
  listDeliveries: { ok: async (scene) => ({ ...(await webhook(scene)), query: { results_per_page: 2 } }) },
  testWebhook: {
    ok: async (scene) => scene.contact().then(() => webhook(scene)),
    conflict: async (scene) => ({ params: { webhook_uuid: await disabled(scene) } }),
  },
  redeliver: {
    ok: async (scene) => ({ params: { delivery_id: await scene.delivery() } }),
    conflict: async (scene) => {
      const delivery_id = await scene.delivery()
      const { webhooks } = (await scene.world.call(scene.tenant, 'GET', '/open/webhooks')).body
      for (const { uuid } of webhooks)
        await scene.world.call(scene.tenant, 'PUT', `/open/webhooks/${uuid}`, { enabled: false })
      return { params: { delivery_id } }
    },
  },
  replayWebhook: {
    ok: async (scene) => ({ ...(await webhook(scene)), body: { since: '2026-01-01T00:00:00Z' } }),
    conflict: async (scene) => ({
      params: { webhook_uuid: await disabled(scene) },
      body: { since: '2026-01-01T00:00:00Z' },
    }),
  },
  showWebhooks: { ok: () => ({}) },
}
