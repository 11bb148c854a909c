import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Connection, enabledConnections } from '../connections/ops.ts'
import type { CarrierState, SmsCarrier } from '../connectors/port.ts'
import { makeRegistry } from '../connectors/registry.ts'
import { connectSmpp } from '../connectors/smpp/carrier.ts'
import { isKnownStatus } from '../connectors/smpp/codec/pdu.ts'
import { decodeParts } from '../connectors/smpp/codec/user-data.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import type { Metrics } from '../http/metrics.ts'
import { makeRoom } from '../jobs/queue.ts'
import type { Seal } from '../lib/secret.ts'
import type { CarrierInbound } from './inbound.ts'
import type { CarrierReceipt } from './receipts.ts'
import { makeTroubleWatch } from './trouble.ts'
import { makeUnwritten, type Unwritten } from './unwritten.ts'

/** The carriers that this process is connected to. */
export type Carriers = {
  /** Parts that they can take at this moment, all together. */
  room(): number
  /** Parts that one of them can take at this moment. */
  roomOf(id: string): number
  /** Resolves with true once that one has room for whoever asks, the first to ask first, with false after so many milliseconds or when the signal says so. */
  whenRoom(id: string, milliseconds: number, signal: AbortSignal): Promise<boolean>
  /** Who was told of room did not use it: the next may. */
  passRoom(id: string): void
  /** The carrier, while it is connected. */
  bound(id: string): SmsCarrier | null
  /** What carriers took and the database does not know yet. */
  readonly unwritten: Unwritten
  state(id: string): CarrierState | null
  /** The state of every connection that runs here, by name. */
  states(): { name: string; state: CarrierState }[]
  /** The state once it is bound or has failed, or after so many seconds. */
  settled(id: string, seconds: number): Promise<CarrierState | null>
  start(): Promise<void>
  close(): Promise<void>
}

/** Where what comes from carriers is kept. */
export type Intake = {
  inbound(message: CarrierInbound): Promise<unknown>
  receipt(receipt: CarrierReceipt): Promise<unknown>
}

export const submitKind = 'sms.submit'

/** The text of a long message from the parts that a carrier brought, in order. */
export const textOfParts = decodeParts

type Waiter = { readonly id: string; readonly go: () => void }

/** Events that are no trouble; all others are logged at warn. */
const levels = new Map<string, 'debug' | 'info'>([
  ['bound', 'info'],
  ['pdu', 'debug'],
])

type Given = { db: Db; seal: Seal; changes: Changes; log: Logger; metrics: Metrics }

export const makeCarriers = ({ db, seal, changes, log, metrics }: Given, intake: Intake): Carriers => {
  const watched = makeTroubleWatch(metrics, log, isKnownStatus)
  const watching = new Set<() => void>()
  /** In the order in which they came. */
  const waiters = new Set<Waiter>()
  let started = false

  /** A link went up or down, or there is room again. */
  const changed = () => {
    for (const look of watching) look()
    tellRoom()
    makeRoom(submitKind)
  }
  const unwritten = makeUnwritten(changed)

  const registry = makeRegistry<Connection<'smpp'>>(({ id, name, settings }) =>
    watched(
      name,
      connectSmpp(
        settings,
        {
          inbound: async (message) => void (await intake.inbound({ ...message, connection: id })),
          receipt: async (receipt) => {
            // The answer to the submit may have come with it. Looked for before its part is there, it had to wait in the queue.
            await setImmediate()
            await unwritten.written(id, receipt.carrierId)
            await intake.receipt({ ...receipt, connection: id })
          },
          changed,
        },
        (event, details) => log[levels.get(event) ?? 'warn']({ connection: name, ...details }, `smpp: ${event}`),
        log.isLevelEnabled('debug'),
      ),
    ),
  )

  // One after the other, so that an older list never comes after a newer one.
  let refreshing = Promise.resolve()
  const refresh = () => {
    refreshing = refreshing.then(async () => {
      if (!started) return
      await registry.apply(await enabledConnections(db, seal, 'smpp'))
      changed()
    })
    refreshing = refreshing.catch((error) => log.error({ err: error }, 'the connections could not be read anew'))
    return refreshing
  }
  changes.on('connections', () => void refresh())

  const carrierOf = (id: string) => registry.running().find(({ wanted }) => wanted.id === id)?.carrier ?? null
  const roomIn = (id: string, carrier: SmsCarrier) => Math.max(0, carrier.room() - unwritten.count(id))
  const roomOf = (id: string) => {
    const carrier = carrierOf(id)
    return carrier ? roomIn(id, carrier) : 0
  }

  /** Wakes as many as there is room for: all at once would find it full again. */
  const tellRoom = () => {
    const rooms = new Map<string, number>()
    for (const { id, go } of waiters) {
      const room = rooms.get(id) ?? roomOf(id)
      rooms.set(id, room - 1)
      if (room > 0) go()
    }
  }

  return {
    room: () => registry.running().reduce((sum, { wanted, carrier }) => sum + roomIn(wanted.id, carrier), 0),
    roomOf,
    whenRoom: (id, milliseconds, signal) =>
      new Promise((resolve) => {
        const end = (found: boolean) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', stop)
          waiters.delete(waiter)
          resolve(found)
        }
        const stop = () => end(false)
        const waiter: Waiter = { id, go: () => end(true) }
        const timer = setTimeout(stop, milliseconds)
        signal.addEventListener('abort', stop)
        waiters.add(waiter)
        if (signal.aborted) stop()
        else if (roomOf(id) > 0) end(true)
      }),
    passRoom: (id) => {
      const next = waiters.values().find((waiter) => waiter.id === id)
      if (next && roomOf(id) > 0) next.go()
    },
    bound: (id) => {
      const carrier = carrierOf(id)
      return carrier?.state().state === 'bound' ? carrier : null
    },
    unwritten,
    state: registry.state,
    states: () => registry.running().map(({ wanted: { name }, carrier }) => ({ name, state: carrier.state() })),
    settled: async (id, seconds) => {
      await refreshing
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer)
          watching.delete(look)
          resolve(registry.state(id))
        }
        const look = () => {
          const state = registry.state(id)
          if (!state || state.state === 'bound' || (state.state === 'down' && state.lastError)) end()
        }
        const timer = setTimeout(end, seconds * 1000)
        watching.add(look)
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
