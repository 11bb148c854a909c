import { hostname } from 'node:os'
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
import { recordingLinks } from '../recordings/recording-links.ts'
import { startRecordingTasks, storeOf } from '../recordings/recording-upload.ts'
import { refusals } from '../refusals.ts'
import { type LeaseHolder, makeVoiceLease } from './voice-lease.ts'
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

export const makeVoiceService = ({
  db,
  seal,
  changes,
  prices,
  config,
  log,
  publicUrl,
  clock,
  quotas,
  sandboxAccounts,
  proxies,
}: VoiceDeps): VoiceService => {
  // The lease has a connection of its own, so that waiting requests cannot delay its heartbeat.
  const leaseDb = db.dedicated(leaseTimeoutMs)
  const lease = makeVoiceLease(leaseDb, `${hostname()}, process ${process.pid}`)
  let trunks: readonly TrunkConnection[] = []
  let node: VoiceNode | null = null
  /** Status while no node is open. */
  let idle = starting
  let pausedUntil = 0
  const ticks: { end(): Promise<void> }[] = []
  let isClosed = false
  let closing: Promise<void> | null = null
  /** Set while the node opens or closes. */
  let following: Promise<void> | null = null
  const decided = Promise.withResolvers<void>()
  const onError = (error: unknown) => log.error({ err: error }, 'voice: periodic task failed')
  const { urlOf: linkOf } = recordingLinks({ seal, clock, publicUrl })

  // Serialised, so that an older list never replaces a newer one.
  const queue = makeSerialQueue()
  const refresh = () =>
    queue(async () => {
      if (!node) return
      trunks = await enabledConnections(db, seal, 'sip-trunk')
      await node.gateway.apply(trunks.map(trunkOf))
    }).catch(onError)
  changes.on('connections', () => void refresh())
  for (const topic of ['accounts', 'users', 'tokens'] as const)
    changes.on(topic, () => void node?.checkUsers().catch(onError))
  changes.on('calls', () => {
    void node?.placeQueued().catch(onError)
    void node?.hangUp().catch(onError)
  })

  const standing = (): VoiceStatus => {
    if (node) return lease.isHeld() ? running : lapsed
    return idle
  }

  /** Opens the node. If that fails, the lease is released for other processes; all but voice goes on here. */
  const openNode = async (epoch: number): Promise<void> => {
    const host = new URL(publicUrl()).hostname
    const ground: VoiceNodeDeps = {
      ...{ db, sandboxAccounts, seal, prices, config, log, linkOf, quotas, host, epoch },
      isHeld: lease.isHeld,
      trunks: () => trunks,
    }
    try {
      node = await openVoiceNode(ground)
    } catch (error) {
      const reason = openFailureOf(error)
      if (idle.reason !== reason) log.error({ err: error }, `voice: there are no calls for now: ${reason}`)
      idle = { state: 'hindered', reason }
      pausedUntil = performance.now() + recoveryIntervalMs
      await lease.release()
      return
    }
    if (idle.state !== 'starting') log.info('voice: calls are possible now: this process runs them')
    await refresh()
    void node.recover().catch(onError)
  }

  /** Ends the calls of a node that has lost the lease, or whose lease lapsed too long ago. */
  const end = async (lost: VoiceNode, then: VoiceStatus): Promise<void> => {
    log.error({ holder: lease.holder() }, `voice: ended the calls of this process: ${then.reason}`)
    node = null
    idle = then
    await lost.close(0, true)
  }

  /** Opens or closes the node to match the lease. */
  const applyLease = async (whose: LeaseHolder | null): Promise<void> => {
    const epoch = lease.epoch()
    if (node && node.epoch !== epoch) await end(node, standby)
    else if (node && lease.lapsedMs() > maxUnpersistedMs) await end(node, lapsed)
    else if (!node && !isClosed && epoch !== null && lease.isHeld()) await openNode(epoch)
    else if (whose === 'theirs' && idle.state !== 'standby') {
      idle = standby
      log.info(
        { holder: lease.holder() },
        'voice: another process runs the calls: this one takes over when that one is gone',
      )
    }
    if (whose === 'ours' || whose === 'theirs') decided.resolve()
  }

  /** Renews or takes the lease and adjusts the node. Does not wait until a node opens or closes. */
  const checkLease = async (): Promise<void> => {
    if ((isClosed && !node) || performance.now() < pausedUntil) return
    let whose: LeaseHolder | null = null
    try {
      whose = await lease.check()
    } finally {
      following ??= applyLease(whose)
        .catch(onError)
        .finally(() => {
          following = null
        })
    }
  }

  const closeNode = async (milliseconds: number) => {
    await node?.close(milliseconds)
    node = null
  }

  const state = (connection: string) => node?.gateway.trunk(connection) ?? null

  const settled = async (connection: string, seconds: number) => {
    await queue(() => {})
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const { state: how, registered } = state(connection) ?? {}
      if (how === undefined || how === 'down' || (how === 'up' && registered !== false)) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  const close = async () => {
    isClosed = true
    await closeNode(closeGraceMs)
    for (const one of ticks) await one.end()
    await following
    await queue(() => {})
    // A node that was opening meanwhile.
    await closeNode(0)
    await lease.release().catch(onError)
    await leaseDb.end()
  }

  return {
    upgrade: {
      path: '/voice',
      open: async (request, socket, head) => {
        const { reason } = standing()
        if (!node || reason !== null) {
          const why = ticks.length > 0 ? reason : 'it does not have the role voice'
          throw refusals.notTakingCalls(why)
        }
        await node.gateway.acceptWebSocket(request, socket, head, proxies.address(request))
      },
    },
    states: () =>
      trunks.flatMap(({ id }) => {
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
    examine: async (connection, echo) => (node ? await Array.fromAsync(node.gateway.diagnose(connection, echo)) : []),
    stats: () => {
      const media = node?.media.state() ?? { calls: 0, capacity: 0 }
      return {
        isRunning: standing().state === 'running',
        calls: node?.gateway.calls() ?? 0,
        freeCapacity: media.capacity - media.calls,
        trunks: node
          ? trunks.map(({ id, name }) => ({ name, isUp: state(id)?.state === 'up', calls: state(id)?.calls ?? 0 }))
          : [],
      }
    },
    port: () => node?.gateway.port ?? null,
    status: standing,
    decided: () => decided.promise,
    start: async () => {
      await checkLease()
      await following
      ticks.push(
        tick(leaseHeartbeatMs, checkLease, onError),
        tick(recoveryIntervalMs, async () => node?.recover(), onError),
        tick(registrationCheckMs, async () => node?.checkUsers(), onError),
        tick(registrationCheckMs, async () => node?.hangUp(), onError),
        tick(registrationCheckMs, async () => node?.placeQueued(), onError),
        tick(timelineFlushMs, async () => node?.flush(), onError),
        // Runs in every process, as no other machine can reach the files on this disk.
        startRecordingTasks({
          db,
          config,
          linkOf,
          cipher: recordingCipher(seal),
          store: storeOf(config),
          failed: onError,
        }),
      )
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
