import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db } from '../../platform/db/sql.ts'
import { tick } from '../../platform/jobs/tick.ts'
import { errorText } from '../../platform/lib/error-text.ts'
import { uuid } from '../../platform/lib/id.ts'
import { processName } from '../../platform/lib/process-name.ts'
import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { CarrierState, LinkState, SmsShare } from '../../ports/sms.ts'
import type { VoiceFinding, VoiceTrunkState } from '../../ports/voice.ts'
import { aliveProcesses } from '../installation/ops.ts'
import { answerPollMs, requestSeconds, silentAfterSeconds, statePublishMs, takeSeconds } from './limits.ts'
import * as store from './remote-connection-store.ts'
import { find } from './store.ts'

/** `fatal`, `links` and `share` belong to a carrier, the others to a trunk. */
export type LiveState = LinkState &
  Partial<Pick<CarrierState, 'fatal' | 'links'>> &
  Partial<Pick<VoiceTrunkState, 'registered' | 'calls' | 'pingMs' | 'pingedAt'>> & {
    /** Seconds by which the clock of the database is ahead of the process that runs the connection, above 2. */
    readonly clockSkewSeconds?: number
    readonly share?: SmsShare
  }

export type ProcessState = { readonly process: string; readonly isOwn: boolean; readonly state: LiveState }

export type TestResult = { readonly working: boolean; readonly message: string }

/** A request to the process that runs a connection. */
type Request = { readonly what: 'test' } | { readonly what: 'examine'; readonly echo: string | null }

/** The connections that this process runs. */
export type LocalDriver = {
  states(): readonly { readonly id: string; readonly state: LiveState }[]
  test(connection: string): Promise<TestResult>
  examine(connection: string, echo: string | null): Promise<VoiceFinding[]>
}

type Answer<T> = { readonly value: T } | { readonly fault: string }

/** Connections that other processes run. */
export type RemoteConnections = {
  /** Returns the state of each connection as published within the last seconds by every process that runs it. */
  states(): Promise<ReadonlyMap<string, readonly ProcessState[]>>
  /** Tests a connection in the process that runs it. @param role of the eligible processes */
  test(connection: string, role: 'worker' | 'voice'): Promise<TestResult>
  examine(connection: string, echo: string | null): Promise<VoiceFinding[]>
  /** Publishes the states of this process, and answers other processes. */
  start(): Promise<void>
  end(): Promise<void>
}

type Deps = {
  db: Db
  changes: InvalidationBus
  log: Logger
  roles: readonly string[]
  clockSkewSeconds?: (() => number | null) | undefined
}

const reportTo = (log: Logger) => (error: unknown) => log.error({ err: error }, 'connections: sharing states failed')

/** @returns the answer, or the reason why there is none */
const requestRemote = async <T>(
  { db, changes, log }: Deps,
  isHere: boolean,
  connection: string,
  role: 'worker' | 'voice',
  request: Request,
): Promise<Answer<T>> => {
  if (!(await find(db, connection))?.enabled) return { fault: 'the connection is not enabled' }
  if (!isHere && !(await aliveProcesses(db)).some((one) => one.roles.includes(role)))
    return { fault: `no process with the role ${role} is running: start one (TRUNKLINE_ROLES)` }
  const seconds = requestSeconds[request.what]
  const id = uuid()
  const begun = performance.now()
  await db.begin(async (tx) => {
    await store.addRequest(tx, { id, connection, request, seconds: takeSeconds })
    await changes.invalidate(tx, 'connection-requests')
  })
  try {
    for (;;) {
      const row = await store.findRequest(db, id)
      // A cast: `runRequest` of this program wrote it.
      if (row && row.answer !== null) return row.answer as Answer<T>
      if (!row) return { fault: 'the connection was deleted meanwhile' }
      const waited = (performance.now() - begun) / 1_000
      if (row.process === null && waited > takeSeconds)
        return { fault: `no process with the role ${role} runs the connection: see their logs` }
      if (waited > takeSeconds + seconds)
        return { fault: `${row.process} runs the connection and did not answer within ${seconds} s` }
      await pause(answerPollMs)
    }
  } finally {
    await store.removeRequest(db, id).catch(reportTo(log))
  }
}

export const makeRemoteConnections = (deps: Deps, local: LocalDriver): RemoteConnections => {
  const { db, changes, log, roles } = deps
  const own = { id: uuid(), name: processName }
  const onError = reportTo(log)
  let publishing: { end(): Promise<void> } | null = null
  const queue = makeSerialQueue()
  const answering = new Set<Promise<void>>()

  const publish = async () => {
    const clockSkewSeconds = deps.clockSkewSeconds?.() ?? undefined
    const states = local.states().map(({ id, state }) => ({ id, state: { ...state, clockSkewSeconds } }))
    await store.publish(db, own, states)
  }

  const runRequest = async ({ connection_id, request }: store.RequestRow): Promise<Answer<unknown>> => {
    // A cast: `requestRemote` of this program wrote it.
    const remoteRequest = request as Request
    try {
      const value =
        remoteRequest.what === 'test'
          ? await local.test(connection_id)
          : await local.examine(connection_id, remoteRequest.echo)
      return { value }
    } catch (error) {
      return { fault: errorText(error) }
    }
  }

  const serveOne = async (row: store.RequestRow): Promise<void> => {
    if (await store.takeRequest(db, row.id, own.name)) await store.answerRequest(db, row.id, await runRequest(row))
  }

  /** Takes the requests for connections that run here, until no request is open. */
  const serve = async (): Promise<void> => {
    while (publishing) {
      const open = await store.openRequests(db)
      if (open.length === 0) return
      const running = new Set(local.states().map(({ id }) => id))
      for (const row of open) {
        if (!running.has(row.connection_id)) continue
        const done = serveOne(row).catch(onError)
        answering.add(done)
        void done.finally(() => answering.delete(done))
      }
      await pause(answerPollMs)
    }
  }

  changes.on('connection-requests', () => {
    if (publishing) void queue(serve).catch(onError)
  })

  /** Whether this process answers requests to processes of a role. */
  const isHere = (role: string) => publishing !== null && roles.includes(role)

  return {
    states: async () => {
      const rows = await store.states(db, silentAfterSeconds)
      const shown = rows.map(({ connection_id, process_id, process, state }) => ({
        connection_id,
        // A cast: `publish` of this program wrote it.
        ...{ process, isOwn: process_id === own.id, state: state as LiveState },
      }))
      return Map.groupBy(shown, ({ connection_id }) => connection_id)
    },
    test: async (connection, role) => {
      const answer = await requestRemote<TestResult>(deps, isHere(role), connection, role, { what: 'test' })
      return 'value' in answer ? answer.value : { working: false, message: answer.fault }
    },
    examine: async (connection, echo) => {
      const answer = await requestRemote<VoiceFinding[]>(deps, isHere('voice'), connection, 'voice', {
        what: 'examine',
        echo,
      })
      if ('value' in answer) return answer.value
      const mend = 'Enable the connection, and start a process that runs the calls (/readyz?role=voice)'
      return [{ what: 'reach', well: false, found: answer.fault, mend }]
    },
    start: async () => {
      publishing = tick(statePublishMs, publish, onError)
      await publish().catch(onError)
    },
    end: async () => {
      const ending = publishing
      publishing = null
      await ending?.end()
      await queue(() => {})
      await Promise.all(answering)
      if (ending) await store.withdrawStates(db, own.id).catch(onError)
    },
  }
}
