import type { Logger } from 'pino'
import { type Connection, enabledConnections } from '../connections/ops.ts'
import type { CarrierState, SmsCarrier } from '../connectors/port.ts'
import { makeRegistry } from '../connectors/registry.ts'
import { connectSmpp } from '../connectors/smpp/carrier.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { wake } from '../jobs/queue.ts'
import type { Seal } from '../lib/secret.ts'
import { makeInbound } from './inbound.ts'
import { makeReceipts } from './receipts.ts'
import { routesFor } from './route.ts'

/** The carriers that this process is connected to. */
export type Carriers = {
  /** Parts that they can take at this moment. */
  room(): number
  /** The carrier that is to take a text to this number: null when none is up, `none` when none carries there at all. */
  route(
    destination: string,
  ): { id: string; carrier: SmsCarrier; settings: Connection<'smpp'>['settings'] } | null | 'none'
  state(id: string): CarrierState | null
  /** The state once it is bound or has failed, or after so many seconds. */
  settled(id: string, seconds: number): Promise<CarrierState | null>
  start(): Promise<void>
  close(): Promise<void>
}

export const submitKind = 'sms.submit'

export const makeCarriers = (db: Db, seal: Seal, changes: Changes, log: Logger): Carriers => {
  const inbound = makeInbound(db, log)
  const receipts = makeReceipts(db)
  const waiting = new Set<() => void>()
  let started = false

  const registry = makeRegistry<Connection<'smpp'>>(({ id, name, settings }) =>
    connectSmpp(
      settings,
      {
        inbound: async (message) => void (await inbound.add({ ...message, connection: id })),
        receipt: async (receipt) => void (await receipts.add({ ...receipt, connection: id })),
        changed: () => {
          for (const look of waiting) look()
          wake(submitKind)
        },
      },
      (event, details) => log.info({ connection: name, ...details }, `smpp ${event}`),
    ),
  )

  // One after the other, so that an older list never comes after a newer one.
  let refreshing = Promise.resolve()
  const refresh = () => {
    refreshing = refreshing.then(async () => {
      if (!started) return
      await registry.apply(await enabledConnections(db, seal, 'smpp'))
      wake(submitKind)
    })
    refreshing = refreshing.catch((error) => log.error({ err: error }, 'the connections could not be read anew'))
    return refreshing
  }
  changes.on('connections', () => void refresh())

  return {
    room: () => registry.running().reduce((sum, { carrier }) => sum + carrier.room(), 0),
    route: (destination) => {
      const links = registry
        .running()
        .map(({ wanted, carrier }) => ({ id: wanted.id, settings: wanted.settings, carrier }))
      const routes = routesFor(links, destination)
      if (routes.length === 0) return 'none'
      return routes.find(({ carrier }) => carrier.state().state === 'bound') ?? null
    },
    state: registry.state,
    settled: async (id, seconds) => {
      await refreshing
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer)
          waiting.delete(look)
          resolve(registry.state(id))
        }
        const look = () => {
          const state = registry.state(id)
          if (!state || state.state === 'bound' || (state.state === 'down' && state.lastError)) end()
        }
        const timer = setTimeout(end, seconds * 1000)
        waiting.add(look)
        look()
      })
    },
    start: async () => {
      started = true
      await refresh()
    },
    close: async () => {
      started = false
      await registry.close()
    },
  }
}
