import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { enabledConnections } from '../connections/ops.ts'
import type { VoiceFinding, VoiceTrunkState } from '../connectors/voice-port.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'
import type { Quotas } from '../http/quotas.ts'
import type { Upgrade } from '../http/upgrade.ts'
import { tick } from '../jobs/tick.ts'
import type { Clock } from '../lib/clock.ts'
import type { Seal } from '../lib/secret.ts'
import type { Prices } from '../prices/ops.ts'
import { startArchive, storeOf } from './archive.ts'
import { longestUnwritten } from './ending.ts'
import { makeLease, lookMs as tellMs, type Whose } from './lease.ts'
import { recordingLinks } from './links.ts'
import { type Office, openOffice } from './office.ts'
import { recordingCipher } from './recordings.ts'
import { type TrunkConnection, trunkOf } from './trunks.ts'

/** What this process does of voice: runs the calls, is ready to when nobody does, cannot, or does not know yet. */
export type VoiceStanding = {
  readonly state: 'running' | 'standby' | 'hindered' | 'starting'
  /** Why it does not run them; null when it does. */
  readonly reason: string | null
}

export type VoiceFigures = {
  readonly isRunning: boolean
  readonly calls: number
  /** How many more calls its audio has room for. */
  readonly room: number
  readonly trunks: readonly { readonly name: string; readonly isUp: boolean; readonly calls: number }[]
}

/** The voice of this process: browsers, trunks and what they say to each other. */
export type Voice = {
  /** Where browsers speak SIP over WebSocket (RFC 7118). */
  readonly upgrade: Upgrade
  /** A trunk as it runs here. */
  state(connection: string): VoiceTrunkState | null
  /** Its state once it has answered or failed, or after so many seconds. */
  settled(connection: string, seconds: number): Promise<VoiceTrunkState | null>
  /** Tries a trunk, for operators. */
  test(connection: string): Promise<{ working: boolean; message: string }>
  /** The UDP and TCP port of SIP of trunks; null while no voice runs here. */
  port(): number | null
  /** What the doctor finds of a trunk that runs here. @param echo a number that sends back what it hears */
  examine(connection: string, echo: string | null): Promise<VoiceFinding[]>
  /** What /metrics shows of this process. */
  figures(): VoiceFigures
  standing(): VoiceStanding
  start(): Promise<void>
  /** Resolves once it is known which process runs the calls, or that this one cannot: a few seconds after a crash. */
  known(): Promise<void>
  /** Takes no new calls, lets those that are go on for a while, and ends the rest. */
  close(): Promise<void>
}

type Given = {
  db: Db
  sandboxAccounts: { has(account: string): boolean }
  seal: Seal
  changes: Changes
  prices: Prices
  config: Config
  log: Logger
  publicUrl: () => string
  clock: Clock
  quotas: Quotas
}

/** How long calls may go on when the process is to end, ms. */
const farewellMs = 10_000
/** How often dialogs are looked for that a crash has left, and ports tried again that are taken, ms. */
const recoverMs = 5_000
/** How often the stories of calls are written down, ms. */
const writeMs = 1_000
/** How long the lease waits for the database, ms: twice within the time that a tenure stays held. */
const patience = 2_000
/** How often those are looked for who may not be here any more, ms, beside when they change. */
const lookMs = 5_000

const portTaken =
  'another program has the port of SIP; end it, or give TRUNKLINE_SIP_PORT (or TRUNKLINE_SIP_TLS_PORT) another one'
const unopened = 'its ports or its audio could not be opened: its log says why'
const hindrance = (error: unknown): string =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' ? portTaken : unopened

const running: VoiceStanding = { state: 'running', reason: null }
const standby: VoiceStanding = { state: 'standby', reason: 'another process runs the calls' }
const starting: VoiceStanding = {
  state: 'starting',
  reason: 'it is not known yet whether another process runs the calls',
}
const lapsed: VoiceStanding = { state: 'hindered', reason: 'the database could not be reached for a while' }

const elsewhere: VoiceFinding = {
  what: 'reach',
  well: false,
  found: 'the trunk does not run in the process that was asked',
  mend: 'Enable the connection, and ask the process that runs the calls (/readyz?role=voice)',
}

export const makeVoice = ({
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
}: Given): Voice => {
  // However many requests wait for a connection, who runs the calls can say so.
  const line = db.apart(patience)
  const lease = makeLease(line, `${hostname()}, process ${process.pid}`)
  let trunks: readonly TrunkConnection[] = []
  let office: Office | null = null
  /** What it does while no office is open. */
  let idle = starting
  let pausedUntil = 0
  const ticks: { end(): Promise<void> }[] = []
  let isClosed = false
  let closing: Promise<void> | null = null
  /** The office opens or closes. */
  let following: Promise<void> | null = null
  const decided = Promise.withResolvers<void>()
  const onError = (error: unknown) => log.error({ err: error }, 'voice could not do what is due')
  const { of: linkOf } = recordingLinks({ seal, clock, publicUrl })

  // One after the other, so that an older list never comes after a newer one.
  let turn = Promise.resolve()
  const refresh = () => {
    turn = turn
      .then(async () => {
        if (!office) return
        trunks = await enabledConnections(db, seal, 'sip-trunk')
        await office.gateway.apply(trunks.map(trunkOf))
      })
      .catch(onError)
    return turn
  }
  changes.on('connections', () => void refresh())
  for (const topic of ['accounts', 'users', 'tokens'] as const)
    changes.on(topic, () => void office?.look().catch(onError))
  changes.on('calls', () => void office?.hangUp().catch(onError))

  const standing = (): VoiceStanding => {
    if (office) return lease.isHeld() ? running : lapsed
    return idle
  }

  /** Opens the office. While it cannot be opened, whoever else waits may run the calls, and all but voice goes on here. */
  const begin = async (tenure: number): Promise<void> => {
    const host = new URL(publicUrl()).hostname
    const ground = {
      ...{ db, sandboxAccounts, seal, prices, config, log, linkOf, quotas, host, tenure },
      isHeld: lease.isHeld,
      trunks: () => trunks,
    }
    try {
      office = await openOffice(ground)
    } catch (error) {
      const reason = hindrance(error)
      if (idle.reason !== reason) log.error({ err: error }, `there are no calls for now: ${reason}`)
      idle = { state: 'hindered', reason }
      pausedUntil = performance.now() + recoverMs
      await lease.release()
      return
    }
    if (idle.state !== 'starting') log.info('calls are possible now: this process runs them')
    await refresh()
    void office.recover().catch(onError)
  }

  /** Ends the calls of an office that is not to run them any more: another process does, or may long since. */
  const end = async (lost: Office, then: VoiceStanding): Promise<void> => {
    log.error({ holder: lease.holder() }, `the calls of this process are ended: ${then.reason}`)
    office = null
    idle = then
    await lost.close(0, true)
  }

  /** Does what the lease says. */
  const follow = async (whose: Whose | null): Promise<void> => {
    const tenure = lease.tenure()
    if (office && office.tenure !== tenure) await end(office, standby)
    else if (office && lease.lapsed() > longestUnwritten) await end(office, lapsed)
    else if (!office && !isClosed && tenure !== null && lease.isHeld()) await begin(tenure)
    else if (whose === 'theirs' && idle.state !== 'standby') {
      idle = standby
      log.info({ holder: lease.holder() }, 'another process runs the calls: this one takes over when that one is gone')
    }
    if (whose === 'ours' || whose === 'theirs') decided.resolve()
  }

  /** Sees to it that one process runs the calls: this one when nobody else does. It does not wait for an office that opens or closes. */
  const attend = async (): Promise<void> => {
    if ((isClosed && !office) || performance.now() < pausedUntil) return
    let whose: Whose | null = null
    try {
      whose = await lease.look()
    } finally {
      following ??= follow(whose)
        .catch(onError)
        .finally(() => {
          following = null
        })
    }
  }

  const leave = async (milliseconds: number) => {
    await office?.close(milliseconds)
    office = null
  }

  const state = (connection: string) => office?.gateway.trunk(connection) ?? null

  const settled = async (connection: string, seconds: number) => {
    await turn
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const { state: how, registered } = state(connection) ?? {}
      if (how === undefined || how === 'down' || (how === 'up' && registered !== false)) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  const close = async () => {
    isClosed = true
    await leave(farewellMs)
    for (const one of ticks) await one.end()
    await following
    await turn
    // One that was just being opened.
    await leave(0)
    await lease.release().catch(onError)
    await line.end()
  }

  return {
    upgrade: {
      path: '/voice',
      open: async (...asked) => {
        const { reason } = standing()
        if (!office || reason !== null) {
          const why = ticks.length > 0 ? reason : 'it lacks the role voice'
          throw new Problem('unavailable', `This process takes no calls: ${why}`, undefined, { 'retry-after': '2' })
        }
        await office.gateway.open(...asked)
      },
    },
    state,
    settled,
    test: async (connection) => {
      const found = await settled(connection, 10)
      if (!found) return { working: false, message: 'the process that was asked does not run the calls' }
      const working = found.state === 'up' && found.registered !== false
      return { working, message: working ? 'up' : (found.lastError ?? found.state) }
    },
    examine: async (connection, echo) =>
      office && state(connection) ? await Array.fromAsync(office.gateway.examine(connection, echo)) : [elsewhere],
    figures: () => {
      const media = office?.media.state() ?? { calls: 0, room: 0 }
      return {
        isRunning: standing().state === 'running',
        calls: office?.gateway.calls() ?? 0,
        room: media.room - media.calls,
        trunks: office
          ? trunks.map(({ id, name }) => ({ name, isUp: state(id)?.state === 'up', calls: state(id)?.calls ?? 0 }))
          : [],
      }
    },
    port: () => office?.gateway.port ?? null,
    standing,
    known: () => decided.promise,
    start: async () => {
      await attend()
      await following
      ticks.push(
        tick(tellMs, attend, onError),
        tick(recoverMs, async () => office?.recover(), onError),
        tick(lookMs, async () => office?.look(), onError),
        tick(lookMs, async () => office?.hangUp(), onError),
        tick(writeMs, async () => office?.flush(), onError),
        // Whoever runs the calls: what lies on this machine's disk no other one can reach.
        startArchive({ db, config, linkOf, cipher: recordingCipher(seal), store: storeOf(config), failed: onError }),
      )
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
