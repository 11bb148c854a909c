import { after } from 'node:test'
import pino from 'pino'
import { furnishChat } from '../src/first.ts'
import { startWorker } from '../src/jobs/worker.ts'
import { makeActs } from '../src/msgapp/acts.ts'
import { makeIntake } from '../src/msgapp/intake.ts'
import { msgappSchedules } from '../src/msgapp/jobs.ts'
import { startCarrier } from '../src/sandbox/child.ts'
import { makeSimulator } from '../src/sandbox/simulator.ts'
import { until } from './platform.ts'
import { temporaryFolder } from './servers.ts'
import { makeWorld, type Tenant } from './world.ts'

/** A world with the sandbox's chat network, its connection, and the process that runs it, which is this one.
 *  @param key of the seal, where another process is to read what this one wrote */
export const startChat = async (key?: Buffer) => {
  const log = pino({ level: process.env.TRUNKLINE_TEST_LOG ?? 'silent' })
  const carrier = await startCarrier(temporaryFolder(), { smpp: 0, sip: 0 }, log)
  const simulator = makeSimulator(() => ({ port: carrier.controlPort, token: carrier.token }))
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' }, {}, { simulator, log, ...(key ? { key } : {}) })
  const { parts, db } = world
  const connection = await furnishChat(parts, carrier)
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

  // Of simulator/control.ts.
  const state = async () => ((await control('GET', '/state')) as { chat: { sessions: number; letters: number } }).chat

  const statusOf = async (tenant: Tenant, channel: string) =>
    (await world.call(tenant, 'GET', `/open/msgapp/channel/${channel}/status`)).body

  return {
    ...world,
    carrier,
    connection,
    control,
    /** Runs the chat connections in this process. */
    own: () => parts.networks.start({ acts: makeActs(parts), intake: makeIntake(parts) }),
    statusOf,
    /** How many connections the network has. */
    sessions: async (): Promise<number> => (await state()).sessions,
    /** How much the network still has to tell. */
    letters: async (): Promise<number> => (await state()).letters,
    /** Waits until a channel stands so. @returns how it stands */
    stands: (tenant: Tenant, channel: string, status: 'C' | 'D' | 'F', seconds = 20) =>
      until(async () => {
        const stand = await statusOf(tenant, channel)
        return stand.connection_status === status && stand
      }, seconds),
    /** A channel of a tenant, as its own interface makes it. */
    channel: async (tenant: Tenant, phone_number: string): Promise<string> => {
      const { status, body } = await world.call(tenant, 'POST', '/open/msgapp/channel/create', { phone_number })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body.channel.uuid
    },
    /** What was told of a channel's link, oldest first. */
    told: (channel: string) =>
      db.many<{ connection_status: string; reason: string; proof: number | null }>`
        select payload ->> 'connection_status' as connection_status, payload ->> 'reason' as reason,
          (payload ->> 'proof_age_seconds')::integer as proof
        from events where name = 'msgapp.number.status' and channel_id = ${channel.slice(3)} order by id`,
  }
}
