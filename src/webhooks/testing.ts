import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Receiver } from '../../simulator/receivers/receiver.ts'
import { type Answer, makeWorld, type Tenant, type World } from '../../test/world.ts'
import { record } from '../events/ops.ts'
import { type Deliveries, startDeliveries } from './engine.ts'

/** A world whose webhooks are delivered, and a receiver that is well until it is told otherwise. */
export type Stage = World & {
  readonly receiver: Receiver
  readonly engine: Deliveries
  /** Subscribes a path of the receiver to what happens to contacts. */
  subscribe(who: Tenant, path: string, event?: string): Promise<{ uuid: string; secret: string }>
  /** Creates contacts of these names, one after the other. */
  happen(who: Tenant, names: readonly string[], conversation?: string | null): Promise<void>
  /** Moves the platform's clock forward. */
  advance(seconds: number): Promise<void>
  /** What a webhook was told, newest first. */
  deliveries(who: Tenant, uuid: string): Promise<Answer['body'][]>
}

export const makeStage = async (options: { timeoutMs?: number; leaseSeconds?: number } = {}): Promise<Stage> => {
  const receiver = await new Receiver().up()
  // Before the database goes: hooks run in the order in which they are given.
  after(async () => {
    await engine.stop(100)
    await receiver.down()
  })
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_MSGAPP_NAME: 'chatapp' })
  const engine = startDeliveries(world.parts, options)
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
    happen: async (who, names, conversation = null) => {
      for (const first_name of names)
        await world.db.begin((tx) =>
          record(tx, [
            { account: who.id, name: 'contact.created', channel: null, conversation, payload: { first_name } },
          ]),
        )
    },
    advance: async (seconds) => {
      await world.call(await world.tenant(), 'POST', '/sandbox/clock', { advance_seconds: seconds })
    },
    deliveries: async (who, uuid) => (await must(who, 'GET', `/open/webhooks/${uuid}/deliveries`)).deliveries,
  }
}

/** The names of the contacts that a receiver heard of, in its order. */
export const namesOf = (calls: readonly { body: string }[]): string[] =>
  calls.map(({ body }) => JSON.parse(body).first_name)
