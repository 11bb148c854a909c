import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { type FairLimiter, makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { LinkState } from '../../../ports/sms.ts'
import type { NumberSupplier } from '../../../ports/supplier.ts'
import { type Connection, enabledConnections } from '../../connections/ops.ts'
import { deliveryWaitLimits } from '../limits.ts'
import { makeSupplierLimiter, type SupplierLimiter } from './supplier-limiter.ts'
import * as offers from './supplier-offer-store.ts'
import * as orders from './supplier-order-store.ts'

/** A connected supplier. */
export type ConnectedSupplier = {
  readonly id: string
  readonly name: string
  readonly supplier: NumberSupplier
  /** The operator's markup on prices, in percent, and the price of an inbound minute. */
  readonly markup: number
  readonly ppm: string
}

/** The external suppliers. Connects on first use. */
export type SupplierRegistry = {
  /** Limits the requests of accounts to all suppliers. */
  readonly limit: SupplierLimiter
  /** Limits the purchases that wait for their delivery. */
  readonly deliveryWaits: FairLimiter
  all(): Promise<readonly ConnectedSupplier[]>
  of(id: string): Promise<ConnectedSupplier | null>
  /** Reads the connection again: without it, a change by another process arrives up to half a second later. */
  reload(id: string): Promise<ConnectedSupplier | null>
  /** Names of suppliers whose catalogue may be missing or stale: the last sync failed, or there was none. */
  missing(): Promise<string[]>
  state(id: string): LinkState | null
  /** The suppliers that this process has connected. */
  states(): { id: string; state: LinkState }[]
  /** Checks the supplier with a small request. */
  test(id: string): Promise<{ working: boolean; message: string }>
}

type CachedSupplier = ConnectedSupplier & { readonly revision: string }

type Connect = (settings: Connection<'didww'>['settings']) => NumberSupplier

const connect = (connectSupplier: Connect, { id, name, settings, revision }: Connection<'didww'>): CachedSupplier => ({
  id,
  name,
  revision,
  supplier: connectSupplier(settings),
  markup: settings.markup_percent ?? 0,
  ppm: settings.ppm ?? '0',
})

export const makeSupplierRegistry = (db: Db, seal: Seal, changes: InvalidationBus): SupplierRegistry => {
  let cached = new Map<string, CachedSupplier>()
  let reading: Promise<Map<string, CachedSupplier>> | null = null
  let missing: Promise<string[]> | null = null
  changes.on('connections', () => {
    reading = null
    missing = null
  })
  changes.on('suppliers', () => {
    missing = null
  })

  /** An unchanged connection keeps its rate limiter and its state. */
  const read = async () => {
    const enabled = await enabledConnections(db, seal, 'didww')
    if (enabled.length === 0) {
      cached = new Map()
      return cached
    }
    // Loaded on first use: most installations have no supplier.
    const { connectDidww } = await import('../../../adapters/didww/didww-supplier.ts')
    const next = enabled.map((one): [string, CachedSupplier] => {
      const before = cached.get(one.id)
      return [one.id, before?.revision === one.revision ? before : connect(connectDidww, one)]
    })
    cached = new Map(next)
    return cached
  }

  const current = (): Promise<Map<string, CachedSupplier>> => {
    const current = reading ?? read()
    reading = current
    current.catch(() => {
      if (reading === current) reading = null
    })
    return current
  }

  const findMissing = async (): Promise<string[]> => {
    const notes = new Map((await offers.syncStates(db)).map((row) => [row.connection_id, row]))
    const isMissing = ({ id }: ConnectedSupplier) => {
      const note = notes.get(id)
      return !note?.synced_at || note.error !== null
    }
    return [...(await current()).values()].filter(isMissing).map(({ name }) => name)
  }

  return {
    limit: makeSupplierLimiter(),
    deliveryWaits: makeFairLimiter(deliveryWaitLimits),
    all: async () => [...(await current()).values()],
    of: async (id) => (await current()).get(id) ?? null,
    reload: async (id) => {
      reading = null
      return (await current()).get(id) ?? null
    },
    missing: () => {
      const current = missing ?? findMissing()
      missing = current
      current.catch(() => {
        if (missing === current) missing = null
      })
      return current
    },
    states: () => [...cached.values()].map(({ id, supplier }) => ({ id, state: supplier.state() })),
    state: (id) => cached.get(id)?.supplier.state() ?? null,
    test: async (id) => {
      const found = (await current()).get(id)
      if (!found) return { working: false, message: 'it is not connected' }
      const result = await found.supplier.check()
      return result.outcome === 'done'
        ? { working: true, message: result.value }
        : { working: false, message: result.reason }
    },
  }
}

/** Returns the state of each supplier for metrics. */
export const supplierMetrics = async (db: Db, suppliers: SupplierRegistry) => {
  const all = await suppliers.all()
  if (all.length === 0) return []
  const [missing, open] = await Promise.all([suppliers.missing(), orders.openOrdersBySupplier(db)])
  return all.map(({ id, name }) => ({
    supplier: name,
    missing: missing.includes(name) ? 1 : 0,
    open: open.find((row) => row.connection_id === id)?.open ?? 0,
  }))
}
