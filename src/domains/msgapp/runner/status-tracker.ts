import type { Db } from '../../../platform/db/sql.ts'
import type { Log } from '../../../platform/jobs/job-kind.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { ChatChannelState, ChatProof } from '../../../ports/chat.ts'
import { type Transition, transition } from '../channels/channel-status.ts'
import { type ChannelProfile, type Phase, updateProfiles } from '../channels/store.ts'
import { maxMissedPings, maxPingAgeMs, steadyConnectionMs } from '../limits.ts'

type TrackedStatus = {
  /** Phase reported by the driver, and phase stored last. */
  reported: Phase
  stored: Phase
  /** Time of the last ping (monotonic clock). */
  pingedAt: number
  misses: number
  /** Time since which the channel is connected, if it is (monotonic clock). */
  since: number
}

export type StatusTracker = {
  /** Starts tracking a channel with its stored phase. */
  track(channel: string, shown: Phase): void
  untrack(channel: string): void
  /** Handles a state reported by the driver. */
  report(channel: string, state: ChatChannelState): void
  /** Channels to ping. */
  channelsToPing(): string[]
  recordPing(channel: string, isAlive: boolean): void
  /** Handles a channel that the database shows as not connected. */
  restoreConnected(channel: string): void
  /** Disconnects channels whose last ping is too old. */
  checkAges(): void
  phaseOf(channel: string): Phase | null
  isConnected(channel: string): boolean
  /** Whether the channel has been connected for ten minutes. By then the network has delivered what came meanwhile. */
  isSteady(channel: string): boolean
  anyConnected(): boolean
  /** Resolves once all changes so far are stored. */
  flushed(): Promise<void>
}

type Deps = {
  db: Db
  seal: Seal
  log: Log
  holder: { connection: string; owner: string }
  /** Strength of the proof of possession that this connection gives. */
  proof: ChatProof
  isHeld: () => boolean
  /** Called with channels that are now connected. */
  onConnected: (channels: readonly string[]) => void
}

/**
 * Tracks the status of a connection's channels, from the driver's reports and from pings. Every change is stored, in
 * order.
 */
export const makeStatusTracker = ({ db, seal, log, holder, proof, isHeld, onConnected }: Deps): StatusTracker => {
  const channels = new Map<string, TrackedStatus>()
  let transitions: Transition[] = []
  let profiles: ChannelProfile[] = []
  let writing: Promise<void> | null = null

  /** The first pending change of each channel. */
  const takeTransitions = (): Transition[] => {
    const first = new Map<string, Transition>()
    const rest: Transition[] = []
    for (const one of transitions) {
      if (first.has(one.channel) || first.size >= 200) rest.push(one)
      else first.set(one.channel, one)
    }
    transitions = rest
    return [...first.values()]
  }

  const write = async () => {
    while ((transitions.length > 0 || profiles.length > 0) && isHeld()) {
      const [some, reports] = [takeTransitions(), profiles]
      profiles = []
      try {
        await db.begin(async (tx) => {
          if (reports.length > 0) await updateProfiles(tx, reports)
          await transition(tx, seal, holder, some)
        })
      } catch (error) {
        log.warn({ err: error, connection: holder.connection }, 'msgapp: storing channel status failed')
        transitions = [...some, ...transitions]
        profiles = [...reports, ...profiles]
        await new Promise((resolve) => setTimeout(resolve, 500))
        continue
      }
      const connected = some.filter(({ phase }) => phase === 'connected').map(({ channel }) => channel)
      if (connected.length > 0) onConnected(connected)
    }
    transitions = []
  }

  const writeSoon = () => {
    writing ??= Promise.resolve()
      .then(write)
      .finally(() => {
        writing = null
      })
  }

  const addTransition = (status: TrackedStatus, change: Transition) => {
    if (change.phase === 'connected' && status.stored !== 'connected') status.since = performance.now()
    status.stored = change.phase
    transitions.push({ ...change, proof })
    writeSoon()
  }

  const report = (channel: string, state: ChatChannelState) => {
    const status = channels.get(channel)
    if (!status) return
    const { reason, me, qr, code, until } = state
    const phase: Phase = state.fatal ? 'failed' : state.phase
    status.reported = phase
    if (me)
      profiles.push({
        channel,
        pushname: me.pushname ?? null,
        server: me.server ?? null,
        business: me.business ?? null,
        networkId: me.id ?? null,
      })
    if (phase === 'connected') {
      status.pingedAt = performance.now()
      status.misses = 0
    }
    if (phase === 'pairing') {
      const pairing = {
        ...(qr === undefined ? {} : { qr }),
        ...(code === undefined ? {} : { code }),
        ...(until === undefined ? {} : { until }),
      }
      addTransition(status, { channel, phase, reason, pairing })
    } else if (phase === 'connecting') {
      // `connecting` is only the initial phase: later a channel is disconnected until it is connected again.
      if (status.stored !== 'connecting' && status.stored !== 'disconnected')
        addTransition(status, { channel, phase: 'disconnected', reason })
    } else if (phase !== status.stored) addTransition(status, { channel, phase, reason })
    if (me) writeSoon()
  }

  const isConnected = ({ reported, stored }: TrackedStatus) => reported === 'connected' && stored === 'connected'

  return {
    track: (channel, shown) =>
      channels.set(channel, { reported: 'connecting', stored: shown, pingedAt: 0, misses: 0, since: 0 }),
    untrack: (channel) => {
      channels.delete(channel)
      transitions = transitions.filter((one) => one.channel !== channel)
    },
    report,
    channelsToPing: () =>
      [...channels].filter(([, { reported }]) => reported === 'connected').map(([channel]) => channel),
    recordPing: (channel, isAlive) => {
      const status = channels.get(channel)
      if (status?.reported !== 'connected') return
      if (!isAlive) {
        if (++status.misses >= maxMissedPings && status.stored === 'connected')
          addTransition(status, { channel, phase: 'disconnected', reason: 'the network does not answer' })
        return
      }
      status.misses = 0
      status.pingedAt = performance.now()
      if (status.stored !== 'connected')
        addTransition(status, { channel, phase: 'connected', reason: 'the network answers again' })
    },
    restoreConnected: (channel) => {
      const status = channels.get(channel)
      if (status && isConnected(status))
        addTransition(status, { channel, phase: 'connected', reason: 'a round trip with the network succeeded' })
    },
    checkAges: () => {
      const now = performance.now()
      for (const [channel, status] of channels)
        if (isConnected(status) && now - status.pingedAt > maxPingAgeMs)
          addTransition(status, { channel, phase: 'disconnected', reason: 'the network does not answer' })
    },
    phaseOf: (channel) => channels.get(channel)?.reported ?? null,
    isConnected: (channel) => {
      const status = channels.get(channel)
      return status !== undefined && isConnected(status)
    },
    isSteady: (channel) => {
      const status = channels.get(channel)
      return status !== undefined && isConnected(status) && performance.now() - status.since > steadyConnectionMs
    },
    anyConnected: () => channels.values().some(isConnected),
    flushed: async () => {
      while (writing) await writing
    },
  }
}
