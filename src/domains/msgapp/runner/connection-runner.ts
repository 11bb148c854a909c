import type { Logger } from 'pino'
import type { Db } from '../../../platform/db/sql.ts'
import type { WakeUps } from '../../../platform/db/wake-ups.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { promoteJobs } from '../../../platform/jobs/ops.ts'
import { notifyCapacity } from '../../../platform/jobs/queue.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { ChatConnector, ChatDriver, ChatEvents, ChatNetwork } from '../../../ports/chat.ts'
import type { LinkState } from '../../../ports/sms.ts'
import { disconnectLeft, transition as turnLinks } from '../channels/channel-status.ts'
import * as links from '../channels/status-store.ts'
import { deleted, listRunnable as linesOf, newestInbound, type RunnableChannelRow } from '../channels/store.ts'
import type { ChatMetrics } from '../chat-metrics.ts'
import { requestSync } from '../groups/group-operations.ts'
import { type ChannelRef, type InboundHandlers, toEvents } from '../inbound-handlers.ts'
import { pingIntervalMs } from '../limits.ts'
import type { Operations } from '../operations/operation.ts'
import { type ChannelReach, operationKind } from '../operations/operation-worker.ts'
import { jobKindOf } from '../operations/requests.ts'
import { makeCredentialStore } from './credential-store.ts'
import { makeStatusTracker } from './status-tracker.ts'

export type ConnectionRunner = {
  /** Extends the lease until then, in milliseconds of `performance.now()`. */
  extendLease(until: number): void
  isHeld(): boolean
  /** Attaches and detaches channels to match the database. */
  reconcile(): Promise<void>
  state(): LinkState
  /** Whether every channel has a status. */
  isSettled(): boolean
  /** @param reason null when the lease is lost: then nothing more is stored */
  end(reason: string | null): Promise<void>
}

type Deps = {
  readonly db: Db
  readonly seal: Seal
  readonly wakeUps: WakeUps
  readonly log: Logger

  readonly sandboxAccounts: { has(account: string): boolean }
  readonly acts: Operations
  readonly intake: InboundHandlers
  readonly metrics: ChatMetrics
  readonly owner: string
  readonly home: string
  readonly connection: { readonly id: string; readonly name: string; readonly settings: unknown }
  readonly driver: ChatDriver<unknown>
  readonly connector: ChatConnector<unknown>
  readonly until: number
}

/** Runs one connection in this process: its network, channels, operations and inbound events. */
export const runConnection = (deps: Deps): ConnectionRunner => {
  const { db, seal, log, acts, intake, metrics, driver, connection } = deps
  const { id, name } = connection
  const abilities = driver.capabilitiesOf(connection.settings)
  const holder = { connection: id, owner: deps.owner }
  const attached = new Map<string, ChannelRef>()
  let until = deps.until
  let ending = false
  let reconciled = false

  const isHeld = () => performance.now() < until
  const admit = () => {
    if (!isHeld() || ending) throw new Error('the lease of this connection is lost')
  }
  const logFailure = (error: unknown) => log.warn({ err: error, connection: name }, 'msgapp: connection task failed')

  /** Makes jobs due that were snoozed while these channels were down. */
  const wakeSnoozed = async (channels: readonly string[]) => {
    if (channels.length > 0) await db.begin((tx) => promoteJobs(tx, jobKindOf(id), { waitsFor: channels }))
  }
  /** Channels connected since the last round of pings; jobs being snoozed just now become due with the next round. */
  const recentlyConnected = new Set<string>()

  const onConnected = (channels: readonly string[]) => {
    notifyCapacity(jobKindOf(id))
    for (const channel of channels) recentlyConnected.add(channel)
    const work = async () => {
      await wakeSnoozed(channels)
      if (abilities.groups === 'no') return
      for (const channel of channels) {
        const channelRef = attached.get(channel)
        if (channelRef) await db.begin((tx) => requestSync(tx, channelRef))
      }
    }
    void work().catch(logFailure)
  }
  const proof = driver.provesPossession
  const tracker = makeStatusTracker({ db, seal, log, holder, proof, isHeld, onConnected })

  const channelRefOf = (channel: string): ChannelRef => {
    admit()
    const channelRef = attached.get(channel)
    if (!channelRef) throw new Error(`the channel ${channel} is not attached`)
    return channelRef
  }
  const inbound = toEvents(intake, channelRefOf)
  const events: ChatEvents = {
    line: (channel, state) => {
      if (!ending && isHeld()) tracker.report(channel, state)
    },
    ...inbound,
    failure: async (channel, failure) => {
      await inbound.failure(channel, failure)
      metrics.refused(name, failure.code)
    },
  }

  const network: ChatNetwork = deps.connector.start(connection.settings, {
    events,
    credentials: makeCredentialStore(db, seal, admit),
    home: deps.home,
    log: (event, details) =>
      log[event === 'connected' ? 'info' : 'warn']({ connection: name, ...details }, `${driver.platform} ${event}`),
  })

  metrics.measure(name, network)

  const reach = (channel: string): ChannelReach => {
    if (!attached.has(channel)) return 'unknown'
    return tracker.isConnected(channel) ? 'connected' : 'down'
  }
  const worker = startWorker({
    db,
    log,
    wakeUps: deps.wakeUps,
    kinds: [
      operationKind({
        connection: id,
        network,
        acts,
        isHeld: () => isHeld() && !ending,
        reach,
        isSteady: tracker.isSteady,
        hasCapacity: () => tracker.anyConnected() || (reconciled && attached.size === 0),
        isDeleted: async (channel) => (await deleted(db, [channel])).length > 0,
      }),
    ],
  })

  const attach = (row: RunnableChannelRow, since: number | null) => {
    const { id: channel, phone_number: number } = row
    attached.set(channel, { account: row.account_id, channel, connection: id, platform: row.platform, number })
    tracker.track(channel, row.phase)
    network.attach({ channel, number, name: row.name, since })
  }

  const detach = async (channel: string, logout: boolean) => {
    attached.delete(channel)
    tracker.untrack(channel)
    await network.detach(channel, logout)
  }

  /** A number sold by the sandbox is not accepted on a network that relies on the platform's proof of possession. */
  const isAllowed = ({ stock, account_id }: RunnableChannelRow) =>
    !stock || proof === 'pairing' || proof === 'simulated' || deps.sandboxAccounts.has(account_id)

  /** Whether a failed channel was asked to connect again. */
  const isRetry = (row: RunnableChannelRow) => tracker.phaseOf(row.id) === 'failed' && row.phase === 'connecting'

  const reconcileOnce = async () => {
    if (ending) return
    const all = await linesOf(db, id)
    const rows = all.filter(isAllowed)
    const refused = all.filter((row) => !isAllowed(row))
    const wanted = new Set(rows.map((row) => row.id))
    const missing = [...attached.keys()].filter((channel) => !wanted.has(channel))
    const gone = new Set((missing.length > 0 ? await deleted(db, missing) : []).map((row) => row.id))
    for (const channel of missing) await detach(channel, gone.has(channel))
    const reason = 'the sandbox sold the number: only sandbox accounts can use it, while the sandbox is on'
    const transitions = refused.map((row) => ({ channel: row.id, phase: 'disconnected' as const, reason }))
    if (transitions.length > 0) await db.begin((tx) => turnLinks(tx, seal, holder, transitions))
    await wakeSnoozed([...gone])
    const begins = rows.filter((row) => !attached.has(row.id) || isRetry(row))
    const since = begins.length > 0 ? await newestInbound(db, begins) : new Map<string, number>()
    for (const row of begins) {
      if (ending) return
      if (attached.has(row.id)) await detach(row.id, false)
      attach(row, since.get(row.id) ?? null)
    }
    reconciled = true
  }

  let pingedAt = 0
  let pinging = false
  const pingAll = async () => {
    pinging = true
    pingedAt = performance.now()
    try {
      const recent = [...recentlyConnected]
      recentlyConnected.clear()
      await wakeSnoozed(recent)
      const alive: string[] = []
      const ask = async (channel: string) => {
        const isThere = await network.ping(channel).catch(() => false)
        if (isThere && tracker.phaseOf(channel) === 'connected') alive.push(channel)
        tracker.recordPing(channel, isThere)
      }
      await Promise.all(tracker.channelsToPing().map(ask))
      if (alive.length === 0 || !isHeld()) return
      await tracker.flushed()
      const confirmed = await links.storePings(db, holder, alive)
      for (const channel of alive) if (!confirmed.has(channel)) tracker.restoreConnected(channel)
    } finally {
      pinging = false
    }
  }

  // Every second, so that an age of 10 s is noticed although a ping may take 4.
  const watch = tick(
    1_000,
    async () => {
      if (ending || !isHeld()) return
      tracker.checkAges()
      if (!pinging && performance.now() - pingedAt >= pingIntervalMs) void pingAll().catch(logFailure)
    },
    logFailure,
  )

  // First disconnects what a previous owner left; nothing is attached before that is stored.
  const queue = makeSerialQueue()
  void queue(() => db.begin((tx) => disconnectLeft(tx, seal, holder, 'the process that ran it is gone'))).catch(
    logFailure,
  )

  /** A reconciliation that has not begun: it sees the changes until then, however many call for it. */
  let waiting: Promise<void> | null = null
  const reconcile = (): Promise<void> => {
    waiting ??= queue(() => {
      waiting = null
      return reconcileOnce()
    }).catch(logFailure)
    return waiting
  }

  return {
    extendLease: (next) => {
      until = next
    },
    isHeld,
    reconcile,
    state: () => network.state(),
    isSettled: () => reconciled && attached.keys().every((channel) => tracker.phaseOf(channel) !== 'connecting'),
    end: async (reason) => {
      ending = true
      await watch.end()
      await queue(() => {})
      await worker.stop(reason === null ? 0 : 5_000)
      await network.close()
      await tracker.flushed()
      if (reason !== null && isHeld())
        await db.begin((tx) => disconnectLeft(tx, seal, holder, reason)).catch(logFailure)
    },
  }
}
