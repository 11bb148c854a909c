import type { CarrierState, SmsCarrier } from './port.ts'

/** A stored connection, as far as running it goes. `revision` changes with every change of it. */
export type Wanted = { readonly id: string; readonly name: string; readonly revision: string }

export type Running<W extends Wanted> = { readonly wanted: W; readonly carrier: SmsCarrier }

/** Turns stored connections into running ones: started, restarted when changed, ended when gone. */
export type Registry<W extends Wanted> = {
  /** Brings what runs in line with what is wanted; what did not change keeps running. */
  apply(wanted: readonly W[]): Promise<void>
  running(): readonly Running<W>[]
  state(id: string): CarrierState | null
  close(): Promise<void>
}

export const makeRegistry = <W extends Wanted>(start: (wanted: W) => SmsCarrier): Registry<W> => {
  const links = new Map<string, Running<W>>()
  let list: readonly Running<W>[] = []
  let turn = Promise.resolve()

  const bring = async (wanted: readonly W[]) => {
    const next = new Map(wanted.map((one) => [one.id, one]))
    const ending = [...links].filter(([id, link]) => next.get(id)?.revision !== link.wanted.revision)
    for (const [id] of ending) links.delete(id)
    list = [...links.values()]
    // The old link ends before the new one binds: carriers count binds.
    await Promise.all(ending.map(([, { carrier }]) => carrier.close()))
    for (const one of wanted) if (!links.has(one.id)) links.set(one.id, { wanted: one, carrier: start(one) })
    list = [...links.values()]
  }

  const apply = (wanted: readonly W[]) => {
    turn = turn.then(() => bring(wanted))
    return turn
  }

  return { apply, running: () => list, state: (id) => links.get(id)?.carrier.state() ?? null, close: () => apply([]) }
}
