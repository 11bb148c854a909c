import { type Connection, enabledConnections } from '../connections/ops.ts'
import { connectDidww } from '../connectors/didww/supplier.ts'
import type { LinkState, NumberSupplier } from '../connectors/port.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import * as offers from './offers.ts'
import * as orders from './orders.ts'

/** A supplier elsewhere, as it is connected. */
export type Supplied = {
  readonly id: string
  readonly name: string
  readonly supplier: NumberSupplier
  /** What an operator adds to the prices, in percent, and the price of an inbound minute. */
  readonly markup: number
  readonly ppm: string
}

/** The suppliers elsewhere. Nothing here is connected until something is asked for. */
export type Suppliers = {
  all(): Promise<readonly Supplied[]>
  of(id: string): Promise<Supplied | null>
  /** The same, read anew: what another process has changed is heard of half a second later. */
  fresh(id: string): Promise<Supplied | null>
  /** Names of those whose part of the catalogue may be missing or old: the last reading failed, or there was none. */
  missing(): Promise<string[]>
  state(id: string): LinkState | null
  /** Asks the supplier for something small. */
  test(id: string): Promise<{ working: boolean; message: string }>
}

type Known = Supplied & { readonly revision: string }

const connect = ({ id, name, settings, revision }: Connection<'didww'>): Known => ({
  id,
  name,
  revision,
  supplier: connectDidww(settings),
  markup: settings.markup_percent ?? 0,
  ppm: settings.ppm ?? '0',
})

export const makeSuppliers = (db: Db, seal: Seal, changes: Changes): Suppliers => {
  let known = new Map<string, Known>()
  let reading: Promise<Map<string, Known>> | null = null
  let missing: Promise<string[]> | null = null
  changes.on('connections', () => {
    reading = null
    missing = null
  })
  changes.on('suppliers', () => {
    missing = null
  })

  /** What did not change keeps its pace and its state. */
  const read = async () => {
    const wanted = await enabledConnections(db, seal, 'didww')
    const next = wanted.map((one): [string, Known] => {
      const before = known.get(one.id)
      return [one.id, before?.revision === one.revision ? before : connect(one)]
    })
    known = new Map(next)
    return known
  }

  const current = (): Promise<Map<string, Known>> => {
    const made = reading ?? read()
    reading = made
    made.catch(() => {
      if (reading === made) reading = null
    })
    return made
  }

  const findMissing = async (): Promise<string[]> => {
    const notes = new Map((await offers.notes(db)).map((row) => [row.connection_id, row]))
    const isMissing = ({ id }: Supplied) => {
      const note = notes.get(id)
      return !note?.synced_at || note.error !== null
    }
    return [...(await current()).values()].filter(isMissing).map(({ name }) => name)
  }

  return {
    all: async () => [...(await current()).values()],
    of: async (id) => (await current()).get(id) ?? null,
    fresh: async (id) => {
      reading = null
      return (await current()).get(id) ?? null
    },
    missing: () => {
      const made = missing ?? findMissing()
      missing = made
      made.catch(() => {
        if (missing === made) missing = null
      })
      return made
    },
    state: (id) => known.get(id)?.supplier.state() ?? null,
    test: async (id) => {
      const found = (await current()).get(id)
      if (!found) return { working: false, message: 'it is not connected' }
      const asked = await found.supplier.check()
      return asked.outcome === 'done'
        ? { working: true, message: asked.value }
        : { working: false, message: asked.reason }
    },
  }
}

/** How things stand with each supplier, for metrics. */
export const supplierFigures = async (db: Db, suppliers: Suppliers) => {
  const all = await suppliers.all()
  if (all.length === 0) return []
  const [missing, open] = await Promise.all([suppliers.missing(), orders.open(db)])
  return all.map(({ id, name }) => ({
    supplier: name,
    missing: missing.includes(name) ? 1 : 0,
    open: open.find((row) => row.connection_id === id)?.open ?? 0,
  }))
}
