import type { Logger } from 'pino'
import type { Config } from '../../../config.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import type { ProxyTrust } from '../../../platform/http/proxy-trust.ts'
import type { Quotas } from '../../../platform/http/quotas.ts'
import type { Upgrade } from '../../../platform/http/upgrade.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { processName } from '../../../platform/lib/process-name.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { VoiceFinding, VoiceTrunkState } from '../../../ports/voice.ts'
import { enabledConnections } from '../../connections/ops.ts'
import type { Prices } from '../../prices/ops.ts'
import { type TrunkConnection, trunkOf } from '../control/trunk-selection.ts'
import {
  closeGraceMs,
  leaseHeartbeatMs,
  leaseTimeoutMs,
  maxUnpersistedMs,
  recoveryIntervalMs,
  registrationCheckMs,
  timelineFlushMs,
} from '../limits.ts'
import type { CallPrograms } from '../orders/call-programs.ts'
import { recordingLinks } from '../recordings/recording-links.ts'
import { startRecordingTasks, storeOf } from '../recordings/recording-upload.ts'
import { refusals } from '../refusals.ts'
import { type LeaseHolder, makeVoiceLease, type VoiceLease } from './voice-lease.ts'
import { openVoiceNode, type VoiceNode, type VoiceNodeDeps } from './voice-node.ts'

// One process at a time holds the voice lease and runs the calls. While it does, it has an open voice node: the SIP
// gateway and the media engine. Each takeover of the lease starts a new epoch, a fencing number.

/** Voice state of this process: runs the calls, is ready to take over, is unable to, or does not know yet. */
export type VoiceStatus = {
  readonly state: 'running' | 'standby' | 'hindered' | 'starting'
  /** Reason why the process does not run the calls; null if it does. */
  readonly reason: string | null
}

export type VoiceStats = {
  readonly isRunning: boolean
  readonly calls: number
  /** Free capacity of the media engine, in calls. */
  readonly freeCapacity: number
  readonly trunks: readonly { readonly name: string; readonly isUp: boolean; readonly calls: number }[]
}

/** Voice of this process: SIP of browsers and trunks, and their media. */
export type VoiceService = {
  /** Endpoint for SIP over WebSocket (RFC 7118). */
  readonly upgrade: Upgrade
  /** Returns the states of trunks that run here. */
  states(): { id: string; state: VoiceTrunkState }[]
  /** Returns the state of a trunk that runs here. */
  state(connection: string): VoiceTrunkState | null
  /** Returns the state of a trunk once it has answered or failed, or after `seconds`. */
  settled(connection: string, seconds: number): Promise<VoiceTrunkState | null>
  /** Tests a trunk, for operators. */
  test(connection: string): Promise<{ working: boolean; message: string }>
  /** Returns the UDP and TCP port of SIP for trunks; null while no voice runs here. */
  port(): number | null
  /** Diagnoses a trunk that runs here; no findings for others. @param echo a number that echoes audio */
  examine(connection: string, echo: string | null): Promise<VoiceFinding[]>
  /** Replaces the certificate of SIP over TLS for later connections; calls go on. @throws Error if it is invalid */
  setCertificate(tls: { readonly key: string; readonly cert: string }): void
  /** Returns the figures for /metrics. */
  stats(): VoiceStats
  status(): VoiceStatus
  start(): Promise<void>
  /** Resolves once it is known which process runs the calls, or that this one cannot: some seconds after a crash. */
  decided(): Promise<void>
  /** Stops new calls, waits a while for current ones, and ends the rest. */
  close(): Promise<void>
}

type VoiceDeps = {
  db: Db
  sandboxAccounts: { has(account: string): boolean }
  seal: Seal
  changes: InvalidationBus
  prices: Prices
  config: Config
  log: Logger
  publicUrl: () => string
  clock: Clock
  quotas: Quotas
  proxies: ProxyTrust
  callPrograms: CallPrograms
}

const portTaken =
  'another program uses the SIP port; stop it, or set TRUNKLINE_SIP_PORT (or TRUNKLINE_SIP_TLS_PORT) to another one'
const unopened = 'the ports or the media engine could not be opened; see the log'
const openFailureOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' ? portTaken : unopened

const running: VoiceStatus = { state: 'running', reason: null }
const standby: VoiceStatus = { state: 'standby', reason: 'another process runs the calls' }
const starting: VoiceStatus = {
  state: 'starting',
  reason: 'not known yet whether another process runs the calls',
}
const lapsed: VoiceStatus = { state: 'hindered', reason: 'the database was unreachable for too long' }

/** Opens the voice node of this process while it holds the lease, and closes it when the lease is lost. */
class VoiceNodeOwner {
  readonly #deps: VoiceDeps
  readonly #leaseDb: Db
  readonly #lease: VoiceLease
  // Serialised, so that an older list never replaces a newer one.
  readonly #queue = makeSerialQueue()
  readonly #decided = Promise.withResolvers<void>()
  #trunks: readonly TrunkConnection[] = []
  #node: VoiceNode | null = null
  /** Status while no node is open. */
  #idle = starting
  #pausedUntil = 0
  #isClosed = false
  /** Set while the node opens or closes. */
  #following: Promise<void> | null = null

  constructor(deps: VoiceDeps) {
    this.#deps = deps
    // The lease has a connection of its own, so that waiting requests cannot delay its heartbeat.
    this.#leaseDb = deps.db.dedicated(leaseTimeoutMs)
    this.#lease = makeVoiceLease(this.#leaseDb, processName)
  }

  get node(): VoiceNode | null {
    return this.#node
  }

  get trunks(): readonly TrunkConnection[] {
    return this.#trunks
  }

  get status(): VoiceStatus {
    if (this.#node) return this.#lease.isHeld() ? running : lapsed
    return this.#idle
  }

  /** Resolves once it is known which process runs the calls, or that this one cannot. */
  get decided(): Promise<void> {
    return this.#decided.promise
  }

  readonly onError = (error: unknown) => this.#deps.log.error({ err: error }, 'voice: periodic task failed')

  /** Resolves when the lists of trunks that are queued have been applied. */
  refreshed(): Promise<void> {
    return this.#queue(async () => {})
  }

  async refresh(): Promise<void> {
    const { db, seal } = this.#deps
    await this.#queue(async () => {
      if (!this.#node) return
      this.#trunks = await enabledConnections(db, seal, 'sip-trunk')
      await this.#node.gateway.apply(this.#trunks.map(trunkOf))
    }).catch(this.onError)
  }

  /** Renews or takes the lease and adjusts the node. Does not wait until a node opens or closes. */
  async checkLease(): Promise<void> {
    if ((this.#isClosed && !this.#node) || performance.now() < this.#pausedUntil) return
    let holder: LeaseHolder | null = null
    try {
      holder = await this.#lease.check()
    } finally {
      this.#following ??= this.#applyLease(holder)
        .catch(this.onError)
        .finally(() => {
          this.#following = null
        })
    }
  }

  async start(): Promise<void> {
    await this.checkLease()
    await this.#following
  }

  /** Stops new calls, and ends the current ones after a while. @param endTicks ends what uses the node */
  async close(endTicks: () => Promise<void>): Promise<void> {
    this.#isClosed = true
    await this.#closeNode(closeGraceMs)
    await endTicks()
    await this.#following
    await this.refreshed()
    // A node that was opening meanwhile.
    await this.#closeNode(0)
    await this.#lease.release().catch(this.onError)
    await this.#leaseDb.end()
  }

  async #closeNode(milliseconds: number): Promise<void> {
    await this.#node?.close(milliseconds)
    this.#node = null
  }

  /** Opens or closes the node to match the lease. */
  async #applyLease(holder: LeaseHolder | null): Promise<void> {
    const [lease, node] = [this.#lease, this.#node]
    const epoch = lease.epoch()
    if (node && node.epoch !== epoch) await this.#end(node, standby)
    else if (node && lease.lapsedMs() > maxUnpersistedMs) await this.#end(node, lapsed)
    else if (!node && !this.#isClosed && epoch !== null && lease.isHeld()) await this.#openNode(epoch)
    else if (holder === 'theirs' && this.#idle.state !== 'standby') {
      this.#idle = standby
      this.#deps.log.info(
        { holder: lease.holder() },
        'voice: another process runs the calls: this one takes over when that one is gone',
      )
    }
    if (holder === 'ours' || holder === 'theirs') this.#decided.resolve()
  }

  /** Opens the node. If that fails, the lease is released for other processes; all but voice goes on here. */
  async #openNode(epoch: number): Promise<void> {
    const { db, sandboxAccounts, seal, prices, config, log, quotas, publicUrl, callPrograms } = this.#deps
    const links = recordingLinks(this.#deps)
    const nodeDeps: VoiceNodeDeps = {
      ...{ db, sandboxAccounts, seal, prices, config, log, quotas, epoch, callPrograms },
      ...{ linkOf: links.urlOf, urlOfRecording: links.urlOfRecording },
      host: new URL(publicUrl()).hostname,
      isHeld: this.#lease.isHeld,
      trunks: () => this.#trunks,
    }
    try {
      this.#node = await openVoiceNode(nodeDeps)
    } catch (error) {
      const reason = openFailureOf(error)
      if (this.#idle.reason !== reason) log.error({ err: error }, `voice: there are no calls for now: ${reason}`)
      this.#idle = { state: 'hindered', reason }
      this.#pausedUntil = performance.now() + recoveryIntervalMs
      await this.#lease.release()
      return
    }
    if (this.#idle.state !== 'starting') log.info('voice: calls are possible now: this process runs them')
    await this.refresh()
    void this.#node.recover().catch(this.onError)
  }

  /** Ends the calls of a node that has lost the lease, or whose lease lapsed too long ago. */
  async #end(lost: VoiceNode, then: VoiceStatus): Promise<void> {
    const holder = this.#lease.holder()
    this.#deps.log.error({ holder }, `voice: ended the calls of this process: ${then.reason}`)
    this.#node = null
    this.#idle = then
    await lost.close(0, true)
  }
}

export const makeVoiceService = (deps: VoiceDeps): VoiceService => {
  const { db, seal, changes, config, proxies } = deps
  const links = recordingLinks(deps)
  const owner = new VoiceNodeOwner(deps)
  const { onError } = owner
  const ticks: { end(): Promise<void> }[] = []
  let closing: Promise<void> | null = null

  changes.on('connections', () => void owner.refresh())
  for (const topic of ['accounts', 'users', 'tokens'] as const)
    changes.on(topic, () => void owner.node?.checkUsers().catch(onError))
  changes.on('calls', () => {
    void owner.node?.placeQueued().catch(onError)
    void owner.node?.hangUp().catch(onError)
    void owner.node?.runCommands().catch(onError)
  })

  const state = (connection: string) => owner.node?.gateway.trunk(connection) ?? null

  const settled = async (connection: string, seconds: number) => {
    await owner.refreshed()
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const { state: how, registered } = state(connection) ?? {}
      if (how === undefined || how === 'down' || (how === 'up' && registered !== false)) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  return {
    upgrade: {
      path: '/voice',
      open: async (request, socket, head) => {
        const { reason } = owner.status
        const { node } = owner
        if (!node || reason !== null) {
          const why = ticks.length > 0 ? reason : 'it does not have the role voice'
          throw refusals.notTakingCalls(why)
        }
        await node.gateway.acceptWebSocket(request, socket, head, proxies.address(request))
      },
    },
    states: () =>
      owner.trunks.flatMap(({ id }) => {
        const found = state(id)
        return found ? [{ id, state: found }] : []
      }),
    state,
    settled,
    test: async (connection) => {
      const found = await settled(connection, 10)
      if (!found) return { working: false, message: 'the trunk was removed meanwhile' }
      const working = found.state === 'up' && found.registered !== false
      return { working, message: working ? 'up' : (found.lastError ?? found.state) }
    },
    examine: async (connection, echo) =>
      owner.node ? await Array.fromAsync(owner.node.gateway.diagnose(connection, echo)) : [],
    stats: () => {
      const { node, trunks } = owner
      const media = node?.media.state() ?? { calls: 0, capacity: 0 }
      return {
        isRunning: owner.status.state === 'running',
        calls: node?.gateway.calls() ?? 0,
        freeCapacity: media.capacity - media.calls,
        trunks: node
          ? trunks.map(({ id, name }) => ({ name, isUp: state(id)?.state === 'up', calls: state(id)?.calls ?? 0 }))
          : [],
      }
    },
    port: () => owner.node?.gateway.port ?? null,
    setCertificate: (tls) => owner.node?.gateway.setCertificate(tls),
    status: () => owner.status,
    decided: () => owner.decided,
    start: async () => {
      await owner.start()
      ticks.push(
        tick(leaseHeartbeatMs, () => owner.checkLease(), onError, { waitsForOthers: false }),
        tick(recoveryIntervalMs, async () => owner.node?.recover(), onError),
        tick(registrationCheckMs, async () => owner.node?.checkUsers(), onError),
        tick(registrationCheckMs, async () => owner.node?.hangUp(), onError),
        tick(registrationCheckMs, async () => owner.node?.placeQueued(), onError),
        tick(registrationCheckMs, async () => owner.node?.runCommands(), onError),
        tick(timelineFlushMs, async () => owner.node?.flush(), onError),
        // Runs in every process, as no other machine can reach the files on this disk.
        startRecordingTasks({
          db,
          config,
          linkOf: links.urlOf,
          urlOfRecording: links.urlOfRecording,
          cipher: recordingCipher(seal),
          store: storeOf(config),
          failed: onError,
        }),
      )
    },
    close: () => {
      closing ??= owner.close(async () => {
        for (const one of ticks) await one.end()
      })
      return closing
    },
  }
}
