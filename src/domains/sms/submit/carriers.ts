import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'
import { makeCarrierRegistry } from '../../../adapters/carrier-registry.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import type { Metrics } from '../../../platform/http/metrics.ts'
import { notifyCapacity } from '../../../platform/jobs/queue.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { CarrierState, SmsCarrier, SmsIntake, SmsReceipt, SmsShare, SubmitResult } from '../../../ports/sms.ts'
import type { Connection } from '../../connections/ops.ts'
import { storableInbound, storableReceipt } from '../carrier-fields.ts'
import { driverOf, enabledCarriers, type SmsKind } from '../drivers.ts'
import type { CarrierInbound } from '../inbound/carrier-inbound.ts'
import { formerLinkMs, linkRetrySeconds } from '../limits.ts'
import { makePartTokens } from '../part-tokens.ts'
import type { CarrierReceipt, CarrierUnparsedReceipt } from '../receipts/carrier-receipt.ts'
import { type CarrierLeases, soleLeases } from './carrier-leases.ts'
import { submitKind } from './message-slots.ts'
import { makePendingCommits, type PendingCommits } from './pending-commits.ts'
import { makeSubmitMonitor } from './submit-monitor.ts'

/** The carriers that this process is connected to: those of which it holds a share. */
export type Carriers = {
  readonly leases: CarrierLeases
  /** Free window of all carriers together, in message parts. */
  availableWindow(): number
  /** Free window of one carrier, in message parts. */
  availableWindowOf(id: string): number
  /** Resolves true when the carrier has window capacity (FIFO), false on timeout or abort. */
  whenAvailable(id: string, milliseconds: number, signal: AbortSignal): Promise<boolean>
  /** Takes capacity for a part while its submit is recorded. @returns a function that gives it back: the submit takes it */
  reserve(id: string): () => void
  /** Passes unused capacity to the next waiter. */
  passAvailability(id: string): void
  /** Whether any carrier is up. */
  isAnyUp(): boolean
  /** The carrier if it is up. */
  up(id: string): SmsCarrier | null
  /** Parts that carriers accepted and the database has not committed yet. */
  readonly pendingCommits: PendingCommits
  state(id: string): CarrierState | null
  /** Handlers of what the carrier of a connection delivers, whether or not this process is connected to it. */
  intakeOf(connection: string): SmsIntake
  /** States of all connections of this process, with its share of each. */
  states(): { id: string; kind: SmsKind; name: string; state: CarrierState & { readonly share: SmsShare } }[]
  /** Resolves with the state once the connection is up or has failed, or after a timeout in seconds. */
  whenSettled(id: string, seconds: number): Promise<CarrierState | null>
  /** Asks a carrier of this process for something harmless; null if it cannot be asked. */
  test(id: string): Promise<{ readonly working: boolean; readonly message: string } | null>
  start(): Promise<void>
  close(): Promise<void>
}

/** Handlers of what carriers deliver; each resolves after the commit. */
export type InboundHandlers = {
  inbound(message: CarrierInbound): Promise<unknown>
  receipt(receipt: CarrierReceipt): Promise<unknown>
  receiptIfSent(receipt: CarrierReceipt): Promise<boolean>
  unparsed(receipt: CarrierUnparsedReceipt): Promise<unknown>
}

type Waiter = { readonly id: string; readonly go: () => void }

type Deps = {
  db: Db
  seal: Seal
  changes: InvalidationBus
  log: Logger
  metrics: Metrics
  /** Absent: no other process shares the database. */
  leases?: CarrierLeases
}

/** A connection with our share of it. Its revision changes with the share. */
type SharedConnection = Connection<SmsKind> & { readonly share: SmsShare }

const leaseOver: SubmitResult = { outcome: 'retry', wasSent: false, reason: 'link_down', seconds: linkRetrySeconds }

/** A carrier that submits and asks nothing once the lease is over, whatever this process missed meanwhile. */
const fenced = (carrier: SmsCarrier, isCurrent: () => boolean): SmsCarrier => {
  const { query, test } = carrier
  return {
    freeWindow: () => (isCurrent() ? carrier.freeWindow() : 0),
    isUp: () => isCurrent() && carrier.isUp(),
    state: carrier.state,
    close: carrier.close,
    submit: (part) => (isCurrent() ? carrier.submit(part) : Promise.resolve(leaseOver)),
    ...(query ? { query: (part) => (isCurrent() ? query(part) : Promise.resolve({ outcome: 'retry' })) } : {}),
    ...(test ? { test } : {}),
  }
}

export const makeCarriers = (
  { db, seal, changes, log, metrics, leases = soleLeases() }: Deps,
  intake: InboundHandlers,
): Carriers => {
  const withMonitor = makeSubmitMonitor(metrics, log)
  const stateListeners = new Set<() => void>()
  /** In order of arrival. */
  const waiters = new Set<Waiter>()
  let started = false

  /** Called when a link went up or down, or capacity returned. */
  const changed = () => {
    for (const look of stateListeners) look()
    notifyWaiters()
    notifyCapacity(submitKind)
    for (const kind of leases.slotKinds()) notifyCapacity(kind)
    leases.linkChanged()
  }
  const unwritten = makePendingCommits(changed)

  /** The response to the submit may be in the same read. An earlier lookup of its part would find none. */
  const whenCommitted = async ({ connection, carrierId, ours }: CarrierReceipt): Promise<void> => {
    await setImmediate()
    await unwritten.whenCommitted(connection, carrierId, ours)
  }

  const tokens = makePartTokens(seal)
  const carrierReceipt = (connection: string, received: SmsReceipt): CarrierReceipt => {
    const { token, ...receipt } = storableReceipt(received)
    const ours = token === undefined ? null : tokens.read(connection, token)
    return { ...receipt, connection, ...(ours ? { ours } : {}) }
  }

  const intakeOf = (connection: string): SmsIntake => ({
    inbound: async (message) => void (await intake.inbound({ ...storableInbound(message), connection })),
    receipt: async (received) => {
      const receipt = carrierReceipt(connection, received)
      await whenCommitted(receipt)
      await intake.receipt(receipt)
    },
    receiptIfSent: async (received) => {
      const receipt = carrierReceipt(connection, received)
      await whenCommitted(receipt)
      return intake.receiptIfSent(receipt)
    },
    unparsed: async (receipt) => void (await intake.unparsed({ ...receipt, connection })),
  })

  /** When this process closed a connection to change its share, by the monotonic clock. */
  const closedAt = new Map<string, number>()
  const mayCountFormerLinks = (id: string) =>
    leases.hadOtherOwner(id) || performance.now() - (closedAt.get(id) ?? Number.NEGATIVE_INFINITY) < formerLinkMs

  const registry = makeCarrierRegistry<SharedConnection>(async ({ id, kind, name, settings, share }) => {
    const driver = driverOf(kind)
    const carrier = await driver.connect(settings, {
      events: { ...intakeOf(id), changed },
      share,
      mayCountFormerLinks: () => mayCountFormerLinks(id),
      log: (level, event, details) => log[level]({ connection: name, ...details }, `${kind}: ${event}`),
      traces: log.isLevelEnabled('debug'),
    })
    return fenced(withMonitor({ kind, name, driver }, carrier), leases.isCurrent)
  })

  let enabled: readonly Connection<SmsKind>[] = []
  const apply = async () => {
    const shared = enabled.flatMap((connection) => {
      const share = leases.shareOf(connection.id)
      const revision = `${connection.revision} ${share.held}/${share.of}`
      return started && share.held > 0 ? [{ ...connection, share, revision }] : []
    })
    for (const { spec } of registry.running()) {
      const isChanged = shared.find(({ id }) => id === spec.id)?.revision !== spec.revision
      const isSame = enabled.some(({ id, revision }) => id === spec.id && spec.revision.startsWith(`${revision} `))
      if (isChanged && isSame) closedAt.set(spec.id, performance.now())
    }
    await registry.apply(shared)
    changed()
  }

  // Serialised, so that an older list never replaces a newer one.
  const queue = makeSerialQueue()
  const refresh = () =>
    queue(async () => {
      if (!started) return
      enabled = await enabledCarriers(db, seal)
      await leases.update(
        enabled.map(({ id, kind, settings }) => ({ id, slots: driverOf(kind).capabilitiesOf(settings).slots ?? 1 })),
      )
      await apply()
    }).catch((error) => log.error({ err: error }, 'sms: reloading connections failed'))
  changes.on('connections', () => void refresh())

  const carrierOf = (id: string) => registry.running().find(({ spec }) => spec.id === id)?.carrier ?? null
  /** Parts whose submits are being recorded, by connection. */
  const reserved = new Map<string, number>()
  const windowIn = (id: string, carrier: SmsCarrier) =>
    Math.max(0, carrier.freeWindow() - unwritten.count(id) - (reserved.get(id) ?? 0))
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
    leases,
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
    reserve: (id) => {
      reserved.set(id, (reserved.get(id) ?? 0) + 1)
      return () => {
        const left = (reserved.get(id) ?? 1) - 1
        if (left > 0) reserved.set(id, left)
        else reserved.delete(id)
      }
    },
    passAvailability: (id) => {
      const next = waiters.values().find((waiter) => waiter.id === id)
      if (next && windowOf(id) > 0) next.go()
    },
    isAnyUp: () => registry.running().some(({ carrier }) => carrier.isUp()),
    up: (id) => {
      const carrier = carrierOf(id)
      return carrier?.isUp() ? carrier : null
    },
    pendingCommits: unwritten,
    state: registry.state,
    intakeOf,
    states: () =>
      registry.running().map(({ spec: { id, kind, name, share }, carrier }) => ({
        ...{ id, kind, name },
        state: { ...carrier.state(), share },
      })),
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
          if (!state || state.state === 'up' || (state.state === 'down' && state.lastError)) end()
        }
        const timer = setTimeout(end, seconds * 1000)
        stateListeners.add(look)
        look()
      })
    },
    test: async (id) => (await carrierOf(id)?.test?.()) ?? null,
    start: async () => {
      started = true
      leases.start({ isUp: (id) => carrierOf(id)?.isUp() ?? false, apply })
      await refresh()
    },
    close: async () => {
      started = false
      await leases.close(registry.close)
    },
  }
}
