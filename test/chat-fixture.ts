import { after } from 'node:test'
import pino from 'pino'
import { setUpSandboxChat } from '../src/bootstrap.ts'
import { makeInboundHandlers } from '../src/domains/msgapp/inbound.ts'
import { msgappSchedules } from '../src/domains/msgapp/jobs.ts'
import { makeOperations } from '../src/domains/msgapp/operations/operations.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { startSimulator } from '../src/domains/sandbox/simulator-process.ts'
import { startWorker } from '../src/platform/jobs/consume/worker.ts'
import { until } from './platform.ts'
import { temporaryFolder } from './servers.ts'
import { makeWorld, type Tenant } from './world.ts'

/**
 * A world with the sandbox's chat network and its connection, which this process runs.
 * @param key of the seal, for tests in which another process reads what this one wrote
 */
export const startChat = async (key?: Buffer) => {
  const log = pino({ level: process.env.TRUNKLINE_TEST_LOG ?? 'silent' })
  const carrier = await startSimulator(temporaryFolder(), { smpp: 0, sip: 0 }, log)
  const simulator = makeSimulatorClient(() => ({ port: carrier.controlPort, token: carrier.token }))
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' }, {}, { simulator, log, ...(key ? { key } : {}) })
  const { parts, db } = world
  const connection = await setUpSandboxChat(parts, carrier)
  const worker = startWorker({ db, log, kinds: [], schedules: msgappSchedules(parts) })
  after(async () => {
    await worker.stop()
    await carrier.stop()
  })

  /** Calls the simulator's control interface. */
  const control = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${carrier.controlPort}${path}`, {
      method,
      headers: { authorization: `Bearer ${carrier.token}` },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
    return answer.json()
  }

  // From simulator/control.ts.
  const state = async () => ((await control('GET', '/state')) as { chat: { sessions: number; letters: number } }).chat

  const statusOf = async (tenant: Tenant, channel: string) =>
    (await world.call(tenant, 'GET', `/open/msgapp/channel/${channel}/status`)).body

  return {
    ...world,
    carrier,
    connection,
    control,
    /** Runs the chat connections in this process. */
    runConnections: () => parts.networks.start({ acts: makeOperations(parts), intake: makeInboundHandlers(parts) }),
    statusOf,
    /** The number of connections that the network has. */
    sessions: async (): Promise<number> => (await state()).sessions,
    /** The number of events that the network has not delivered yet. */
    letters: async (): Promise<number> => (await state()).letters,
    /** Waits until a channel has this status. @returns the status */
    waitForStatus: (tenant: Tenant, channel: string, status: 'C' | 'D' | 'F', seconds = 60) =>
      until(async () => {
        const stand = await statusOf(tenant, channel)
        return stand.connection_status === status && stand
      }, seconds),
    /** Creates a channel of a tenant through the tenant's API. */
    channel: async (tenant: Tenant, phone_number: string): Promise<string> => {
      const { status, body } = await world.call(tenant, 'POST', '/open/msgapp/channel/create', { phone_number })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body.channel.uuid
    },
    /** Published events of a channel's link, oldest first. */
    statusEvents: (channel: string) =>
      db.many<{ connection_status: string; reason: string; proof: number | null }>`
        select payload ->> 'connection_status' as connection_status, payload ->> 'reason' as reason,
          (payload ->> 'proof_age_seconds')::integer as proof
        from events where name = 'msgapp.number.status' and channel_id = ${channel.slice(3)} order by id`,
  }
}
