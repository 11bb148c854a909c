import { makeSerialQueue } from '../platform/lib/serial-queue.ts'
import type { CarrierState, SmsCarrier } from '../ports/sms.ts'

/** Specification of a stored connection. `revision` changes with every change of the connection. */
export type ConnectionSpec = { readonly id: string; readonly name: string; readonly revision: string }

export type RunningConnection<W extends ConnectionSpec> = { readonly spec: W; readonly carrier: SmsCarrier }

/** Runs the stored connections: starts new ones, restarts changed ones, closes removed ones. */
export type CarrierRegistry<W extends ConnectionSpec> = {
  /** Reconciles the running connections with the specifications. Unchanged connections keep running. */
  apply(specs: readonly W[]): Promise<void>
  running(): readonly RunningConnection<W>[]
  state(id: string): CarrierState | null
  close(): Promise<void>
}

export const makeCarrierRegistry = <W extends ConnectionSpec>(
  start: (spec: W) => Promise<SmsCarrier>,
): CarrierRegistry<W> => {
  const links = new Map<string, RunningConnection<W>>()
  let list: readonly RunningConnection<W>[] = []
  const queue = makeSerialQueue()

  const reconcile = async (specs: readonly W[]) => {
    const next = new Map(specs.map((one) => [one.id, one]))
    const ending = [...links].filter(([id, link]) => next.get(id)?.revision !== link.spec.revision)
    for (const [id] of ending) links.delete(id)
    list = [...links.values()]
    // The old link ends before the new one binds: carriers count binds.
    await Promise.all(ending.map(([, { carrier }]) => carrier.close()))
    for (const one of specs) if (!links.has(one.id)) links.set(one.id, { spec: one, carrier: await start(one) })
    list = [...links.values()]
  }

  const apply = (specs: readonly W[]) => queue(() => reconcile(specs))

  return { apply, running: () => list, state: (id) => links.get(id)?.carrier.state() ?? null, close: () => apply([]) }
}
