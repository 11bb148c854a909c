import { setImmediate } from 'node:timers/promises'
import { isKnownStatus } from '@trunkline/smpp/pdu.ts'
import { decodeParts } from '@trunkline/smpp/user-data.ts'
import type { Logger } from 'pino'
import { makeCarrierRegistry } from '../../../adapters/carrier-registry.ts'
import { connectSmpp } from '../../../adapters/smpp/smpp-carrier.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import type { Metrics } from '../../../platform/http/metrics.ts'
import { notifyCapacity } from '../../../platform/jobs/queue.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { CarrierState, SmsCarrier } from '../../../ports/sms.ts'
import { type Connection, enabledConnections } from '../../connections/ops.ts'
import type { CarrierInbound } from '../inbound/carrier-inbound.ts'
import type { CarrierReceipt } from '../receipts/carrier-receipt.ts'
import { makePendingCommits, type PendingCommits } from './pending-commits.ts'
import { makeSubmitMonitor } from './submit-monitor.ts'

/** The carriers that this process is connected to. */
export type Carriers = {
  /** Free window of all carriers together, in message parts. */
  availableWindow(): number
  /** Free window of one carrier, in message parts. */
  availableWindowOf(id: string): number
  /** Resolves true when the carrier has window capacity (FIFO), false on timeout or abort. */
  whenAvailable(id: string, milliseconds: number, signal: AbortSignal): Promise<boolean>
  /** Passes unused capacity to the next waiter. */
  passAvailability(id: string): void
  /** Whether any carrier is bound. */
  isAnyBound(): boolean
  /** The carrier if it is bound. */
  bound(id: string): SmsCarrier | null
  /** Parts that carriers accepted and the database has not committed yet. */
  readonly pendingCommits: PendingCommits
  state(id: string): CarrierState | null
  /** States of all connections of this process. */
  states(): { id: string; name: string; state: CarrierState }[]
  /** Resolves with the state once the connection is bound or has failed, or after a timeout in seconds. */
  whenSettled(id: string, seconds: number): Promise<CarrierState | null>
  start(): Promise<void>
  close(): Promise<void>
}

/** Handlers of what carriers deliver; each resolves after the commit. */
export type InboundHandlers = {
  inbound(message: CarrierInbound): Promise<unknown>
  receipt(receipt: CarrierReceipt): Promise<unknown>
}

export const submitKind = 'sms.submit'

/** Decodes the text of a long message from its parts, in order. */
export const textOfParts = decodeParts

type Waiter = { readonly id: string; readonly go: () => void }

/** Log levels of routine events; all others are logged at warn. */
const logLevels = new Map<string, 'debug' | 'info'>([
  ['bound', 'info'],
  ['pdu', 'debug'],
])

type Deps = { db: Db; seal: Seal; changes: InvalidationBus; log: Logger; metrics: Metrics }

export const makeCarriers = ({ db, seal, changes, log, metrics }: Deps, intake: InboundHandlers): Carriers => {
  const withMonitor = makeSubmitMonitor(metrics, log, isKnownStatus)
  const stateListeners = new Set<() => void>()
  /** In order of arrival. */
  const waiters = new Set<Waiter>()
  let started = false

  /** Called when a link went up or down, or capacity returned. */
  const changed = () => {
    for (const look of stateListeners) look()
    notifyWaiters()
    notifyCapacity(submitKind)
  }
  const unwritten = makePendingCommits(changed)

  const registry = makeCarrierRegistry<Connection<'smpp'>>(({ id, name, settings }) =>
    withMonitor(
      name,
      connectSmpp(
        settings,
        {
          inbound: async (message) => void (await intake.inbound({ ...message, connection: id })),
          receipt: async (receipt) => {
            // The response to the submit may be in the same read. Let its part be committed first; an earlier lookup
            // would queue the receipt.
            await setImmediate()
            await unwritten.whenCommitted(id, receipt.carrierId)
            await intake.receipt({ ...receipt, connection: id })
          },
          changed,
        },
        (event, details) => log[logLevels.get(event) ?? 'warn']({ connection: name, ...details }, `smpp: ${event}`),
        log.isLevelEnabled('debug'),
      ),
    ),
  )

  // Serialised, so that an older list never replaces a newer one.
  const queue = makeSerialQueue()
  const refresh = () =>
    queue(async () => {
      if (!started) return
      await registry.apply(await enabledConnections(db, seal, 'smpp'))
      changed()
    }).catch((error) => log.error({ err: error }, 'sms: reloading connections failed'))
  changes.on('connections', () => void refresh())

  const carrierOf = (id: string) => registry.running().find(({ spec }) => spec.id === id)?.carrier ?? null
  const windowIn = (id: string, carrier: SmsCarrier) => Math.max(0, carrier.freeWindow() - unwritten.count(id))
  const windowOf = (id: string) => {
    const carrier = carrierOf(id)
    return carrier ? windowIn(id, carrier) : 0
  }

  /** Wakes as many waiters as there is capacity for. */
  const notifyWaiters = () => {
    const rooms = new Map<string, number>()
    for (const { id, go } of waiters) {
      const room = rooms.get(id) ?? windowOf(id)
      rooms.set(id, room - 1)
      if (room > 0) go()
    }
  }

  return {
    availableWindow: () => registry.running().reduce((sum, { spec, carrier }) => sum + windowIn(spec.id, carrier), 0),
    availableWindowOf: windowOf,
    whenAvailable: (id, milliseconds, signal) =>
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
        else if (windowOf(id) > 0) end(true)
      }),
    passAvailability: (id) => {
      const next = waiters.values().find((waiter) => waiter.id === id)
      if (next && windowOf(id) > 0) next.go()
    },
    isAnyBound: () => registry.running().some(({ carrier }) => carrier.isBound()),
    bound: (id) => {
      const carrier = carrierOf(id)
      return carrier?.isBound() ? carrier : null
    },
    pendingCommits: unwritten,
    state: registry.state,
    states: () => registry.running().map(({ spec: { id, name }, carrier }) => ({ id, name, state: carrier.state() })),
    whenSettled: async (id, seconds) => {
      await queue(() => {})
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer)
          stateListeners.delete(look)
          resolve(registry.state(id))
        }
        const look = () => {
          const state = registry.state(id)
          if (!state || state.state === 'bound' || (state.state === 'down' && state.lastError)) end()
        }
        const timer = setTimeout(end, seconds * 1000)
        stateListeners.add(look)
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
