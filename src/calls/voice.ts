import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { enabledConnections } from '../connections/ops.ts'
import type { VoiceFinding, VoiceTrunkState } from '../connectors/voice-port.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'
import type { Upgrade } from '../http/upgrade.ts'
import { tick } from '../jobs/tick.ts'
import type { Clock } from '../lib/clock.ts'
import type { Seal } from '../lib/secret.ts'
import type { Prices } from '../prices/ops.ts'
import { barredOf } from '../users/ops.ts'
import { startArchive, storeOf } from './archive.ts'
import { makeDesk } from './desk.ts'
import * as dialogs from './dialogs.ts'
import { type Drivers, startDrivers } from './drivers.ts'
import { recordingLinks } from './links.ts'
import { closeAbandoned } from './ops.ts'
import * as store from './store.ts'
import { type TrunkConnection, trunkOf } from './trunks.ts'

export type VoiceFigures = {
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
  start(): Promise<void>
  /** Takes no new calls, lets those that are go on for a while, and ends the rest. */
  close(): Promise<void>
}

type Given = {
  db: Db
  seal: Seal
  changes: Changes
  prices: Prices
  config: Config
  log: Logger
  publicUrl: () => string
  clock: Clock
}

/** How long calls may go on when the process is to end, ms. */
const farewellMs = 10_000
/** How often dialogs are looked for that a crash has left, ms. */
const recoverMs = 5_000
/** How often the stories of calls are written down, ms. */
const writeMs = 1_000
const mostLeft = 50
/** How often those are looked for who may not be here any more, ms, beside when they change. */
const lookMs = 5_000
/** How long a process looks for calls of the one before, and how long those have no beat then: four of them. Seconds. */
const youngSeconds = 60
const silentSeconds = 20

const portTaken =
  'another program has the port of SIP; end it, or give TRUNKLINE_SIP_PORT (or TRUNKLINE_SIP_TLS_PORT) another one'
const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

const elsewhere: VoiceFinding = {
  what: 'reach',
  well: false,
  found: 'the trunk does not run in the process that was asked',
  mend: 'Enable the connection, and ask a process with the role voice',
}

export const makeVoice = ({ db, seal, changes, prices, config, log, publicUrl, clock }: Given): Voice => {
  let trunks: readonly TrunkConnection[] = []
  let drivers: Drivers | null = null
  let startedAt = 0
  /** Why it does not run though it should. */
  let hindered: string | null = null
  const ticks: { end(): Promise<void> }[] = []
  let isClosed = false
  const onError = (error: unknown) => log.error({ err: error }, 'voice could not do what is due')
  const { of: linkOf } = recordingLinks({ seal, clock, publicUrl })
  const desk = makeDesk({
    ...{ db, seal, prices, log, config, trunks: () => trunks },
    hangUp: (call, reason) => void drivers?.gateway.hangUp(call, reason).catch(onError),
    linkOf,
  })

  // One after the other, so that an older list never comes after a newer one.
  let turn = Promise.resolve()
  const refresh = () => {
    turn = turn
      .then(async () => {
        if (!drivers) return
        trunks = await enabledConnections(db, seal, 'sip-trunk')
        await drivers.gateway.apply(trunks.map(trunkOf))
      })
      .catch(onError)
    return turn
  }
  changes.on('connections', () => void refresh())

  /** Sends away who may not be here any more: when something changed, and every so often, as one may come while another look is under way. */
  const look = async () => {
    if (!drivers) return
    const people = desk.present()
    if (people.length === 0) return
    const barred = new Set(
      await barredOf(
        db,
        people.map(({ user }) => user),
      ),
    )
    const gone = people.filter(({ user }) => barred.has(user))
    await drivers.gateway.drop(gone, 'suspended', true)
  }
  for (const topic of ['accounts', 'users'] as const) changes.on(topic, () => void look().catch(onError))

  /** Ends what operators asked to be ended: when they ask, and every so often, as a call has no end yet while it begins. */
  const hangUp = async () => {
    if (!drivers || drivers.gateway.calls() === 0) return
    for (const { id } of await store.toHangUp(db)) await drivers?.gateway.hangUp(id, 'An operator ended the call')
  }
  changes.on('calls', () => void hangUp().catch(onError))

  /** Says goodbye to the other sides of calls that a killed process ran. */
  const recover = async () => {
    if (!drivers) return
    // One process alone runs voice: what had its last beat before this one began was run by the one before.
    const age = Math.ceil((performance.now() - startedAt) / 1_000) + 1
    if (age < youngSeconds) await db.begin((tx) => closeAbandoned(tx, mostLeft, Math.max(age, silentSeconds)))
    const found = await dialogs.left(db, mostLeft)
    // All at once: a carrier that is silent takes half a minute to be given up.
    await Promise.all(found.map((one) => sayGoodbye(one).catch(onError)))
  }

  const sayGoodbye = async ({ account_id, call_id, dialogs: kept }: dialogs.Left) => {
    const told = await drivers?.gateway.release(kept.list)
    log.info({ call: call_id, told }, 'a call that a crash had left open was hung up')
    await dialogs.forget(db, account_id, call_id)
  }

  const state = (connection: string) => drivers?.gateway.trunk(connection) ?? null

  const settled = async (connection: string, seconds: number) => {
    await turn
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const { state: how, registered } = state(connection) ?? {}
      if (how === undefined || how === 'down' || (how === 'up' && registered !== false)) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  /** @returns false while another program has a port of ours: all but voice goes on, and voice tries again */
  const begin = async (): Promise<boolean> => {
    const fault = (error: unknown) => log.error({ err: error }, 'voice met an error')
    const secret = seal.derive('sip nonces').toString('base64')
    try {
      const made = await startDrivers(config, { desk, secret, fault }, new URL(publicUrl()).hostname)
      if (isClosed) await Promise.all([made.gateway.close(0), made.media.close()])
      else drivers = made
    } catch (error) {
      if (!isTaken(error)) throw error
      if (hindered === null) log.error({ err: error }, `there are no calls for now: ${portTaken}`)
      hindered = portTaken
      return false
    }
    if (!drivers) return true
    if (hindered !== null) log.info('calls are possible now')
    hindered = null
    startedAt = performance.now()
    await refresh()
    void recover().catch(onError)
    ticks.push(
      tick(recoverMs, recover, onError),
      startArchive({ db, config, media: drivers.media, store: storeOf(config), linkOf, failed: onError }),
      tick(lookMs, look, onError),
      tick(lookMs, hangUp, onError),
      tick(writeMs, desk.flush, onError),
    )
    return true
  }

  return {
    upgrade: {
      path: '/voice',
      open: async (...asked) => {
        if (!drivers)
          throw new Problem('unavailable', `No voice runs in this process: ${hindered ?? 'it lacks the role voice'}`)
        await drivers.gateway.open(...asked)
      },
    },
    state,
    settled,
    test: async (connection) => {
      const found = await settled(connection, 10)
      if (!found) return { working: false, message: 'no process with the role voice runs it here' }
      const working = found.state === 'up' && found.registered !== false
      return { working, message: working ? 'up' : (found.lastError ?? found.state) }
    },
    examine: async (connection, echo) =>
      drivers && state(connection) ? await Array.fromAsync(drivers.gateway.examine(connection, echo)) : [elsewhere],
    figures: () => {
      const media = drivers?.media.state() ?? { calls: 0, room: 0 }
      return {
        calls: drivers?.gateway.calls() ?? 0,
        room: media.room - media.calls,
        trunks: trunks.map(({ id, name }) => ({ name, isUp: state(id)?.state === 'up', calls: state(id)?.calls ?? 0 })),
      }
    },
    port: () => drivers?.gateway.port ?? null,
    start: async () => {
      if (!(await begin()))
        ticks.push(tick(recoverMs, async () => void (isClosed || drivers || (await begin())), onError))
    },
    close: async () => {
      isClosed = true
      const ending = drivers
      await ending?.gateway.close(farewellMs)
      drivers = null
      for (const one of ticks) await one.end()
      await turn
      await ending?.media.close()
    },
  }
}
