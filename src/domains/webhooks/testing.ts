import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Receiver } from '../../../test/doubles/receiver.ts'
import { until } from '../../../test/platform.ts'
import { type Answer, makeWorld, type Tenant, type World } from '../../../test/world.ts'
import { record } from '../events/ops.ts'
import { type DeliveryEngine, startDeliveryEngine } from './delivery/delivery-engine.ts'

/** A test world with a delivery engine, and a receiver that accepts everything by default. */
export type DeliveryHarness = World & {
  readonly receiver: Receiver
  readonly engine: DeliveryEngine
  /** Subscribes a path of the receiver to contact events. */
  subscribe(who: Tenant, path: string, event?: string): Promise<{ uuid: string; secret: string }>
  /** Creates contacts with these names, one after the other. */
  createContacts(who: Tenant, names: readonly string[], conversation?: string | null): Promise<void>
  /** Moves the platform's clock forward. */
  advance(seconds: number): Promise<void>
  /** Deliveries of a webhook, newest first. */
  deliveries(who: Tenant, uuid: string): Promise<Answer['body'][]>
}

export const makeDeliveryHarness = async (
  options: { timeoutMs?: number; leaseSeconds?: number; statsMs?: number; idleMs?: number } = {},
): Promise<DeliveryHarness> => {
  const receiver = await new Receiver().up()
  // Hooks run in registration order: the engine must stop before the database does.
  after(async () => {
    await engine.stop(100)
    await receiver.down()
  })
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_MSGAPP_NAME: 'chatapp' })
  const engine = startDeliveryEngine(world.parts, options)
  const must = async (who: Tenant, method: 'GET' | 'POST', url: string, body?: object) => {
    const answer = await world.call(who, method, url, body)
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return {
    ...world,
    receiver,
    engine,
    subscribe: async (who, path, event = 'contact.created') => {
      const body = { hook_url: receiver.url(path) }
      const { data } = await must(who, 'POST', `/open/webhooks/subscribe/${event}`, body)
      return { uuid: data.uuid, secret: data.signing_secret }
    },
    createContacts: async (who, names, conversation = null) => {
      for (const first_name of names)
        await world.db.begin((tx) =>
          record(tx, [
            { account: who.id, name: 'contact.created', channel: null, conversation, payload: { first_name } },
          ]),
        )
    },
    advance: async (seconds) => {
      const { clock } = world.parts
      const offset = clock.offset() + seconds
      await world.call(await world.tenant(), 'POST', '/sandbox/clock', { advance_seconds: seconds })
      // The process reads the clock a moment after the answer.
      await until(async () => clock.offset() >= offset)
    },
    deliveries: async (who, uuid) => (await must(who, 'GET', `/open/webhooks/${uuid}/deliveries`)).deliveries,
  }
}

/** Names of the contacts in the received calls, in order. */
export const namesOf = (calls: readonly { body: string }[]): string[] =>
  calls.map(({ body }) => JSON.parse(body).first_name)
