import { once } from 'node:events'
import type { TestContext } from 'node:test'
import smpp, { type SmppPdu, type SmppSession } from 'smpp'
import { until } from '../../../test/platform.ts'
import { putPrices } from '../../../test/prices.ts'
import { makeWorld, type Answer as Reply, type Tenant, type World } from '../../../test/world.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { uuid } from '../../platform/lib/id.ts'
import { smsJobs, smsSchedules } from './jobs.ts'
import { inboundMediaJob } from './mms/inbound-media.ts'

/** Reaction of a test carrier to a submit: accept, refuse with a status, stay mute, or cut the link. */
export type SubmitReaction = 'take' | number | 'mute' | 'cut'

/** Answer of a test carrier to query_sm: a message_state, a status that refuses, or none at all. */
export type QueryReaction = { readonly state: number; readonly error?: number } | { readonly status: number } | 'mute'

export type Submit = {
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly concat: { reference: number; parts: number; part: number } | null
  readonly isPayload: boolean
  readonly dataCoding: number
  readonly validity: string
  readonly id: string
}

/** A carrier simulated by the npm package smpp, an independent implementation. */
export type Smsc = {
  readonly port: number
  /** All received submits, in order. */
  readonly submits: Submit[]
  /** Reaction to the next submits. Default: `take`. */
  react: (submit: Submit, count: number) => SubmitReaction
  /** Message id of the nth response. */
  idOf: (count: number) => string
  /** All questions with query_sm, in order. */
  readonly queries: { readonly id: string; readonly source: string }[]
  /** Reaction to the next questions. Default: the command is refused, as by a carrier without it. */
  reactToQuery: (id: string) => QueryReaction
  receipt(id: string, stat: string, from?: string, to?: string): void
  sendInbound(from: string, to: string, text: string): Promise<void>
  /** Delivers a message with exactly these fields; resolves with the status of the response. */
  deliver(fields: Record<string, unknown>): Promise<number>
  cut(): void
  close(): void
}

const concatOf = (pdu: SmppPdu): Submit['concat'] => {
  const headers: unknown = pdu.short_message?.udh
  for (const element of Array.isArray(headers) ? headers : []) {
    if (!Buffer.isBuffer(element)) continue
    if (element[0] === 0) return { reference: element[2] ?? 0, parts: element[3] ?? 0, part: element[4] ?? 0 }
    if (element[0] === 8) return { reference: element.readUInt16BE(2), parts: element[4] ?? 0, part: element[5] ?? 0 }
  }
  return null
}

const submitOf = (pdu: SmppPdu, id: string): Submit => ({
  source: `+${pdu.source_addr}`,
  destination: `+${pdu.destination_addr}`,
  text: String((pdu.message_payload ?? pdu.short_message)?.message ?? ''),
  concat: concatOf(pdu),
  isPayload: pdu.message_payload !== undefined,
  dataCoding: pdu.data_coding ?? -1,
  validity: String(pdu.validity_period ?? ''),
  id,
})

export const startSmsc = async (): Promise<Smsc> => {
  const sessions = new Set<SmppSession>()
  const server = smpp.createServer((session) => {
    sessions.add(session)
    session.on('error', () => {})
    session.on('close', () => sessions.delete(session))
    for (const bind of ['bind_transceiver', 'enquire_link', 'unbind'])
      session.on(bind, (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('submit_sm', (pdu: SmppPdu) => {
      const submit = submitOf(pdu, smsc.idOf(smsc.submits.length + 1))
      smsc.submits.push(submit)
      const answer = smsc.react(submit, smsc.submits.length)
      if (answer === 'take') session.send(pdu.response({ message_id: submit.id }))
      else if (answer === 'cut') session.destroy()
      else if (typeof answer === 'number') session.send(pdu.response({ command_status: answer }))
    })
    session.on('query_sm', (pdu: SmppPdu) => {
      const id = String(pdu.message_id)
      smsc.queries.push({ id, source: `+${pdu.source_addr}` })
      const answer = smsc.reactToQuery(id)
      if (answer === 'mute') return
      if ('status' in answer) session.send(pdu.response({ command_status: answer.status }))
      else
        session.send(
          pdu.response({ message_id: id, message_state: answer.state, error_code: answer.error ?? 0, final_date: '' }),
        )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const any = () => [...sessions].at(-1)
  const cut = () => {
    for (const session of sessions) session.destroy()
  }
  const smsc: Smsc = {
    port: typeof address === 'object' && address ? address.port : 0,
    submits: [],
    queries: [],
    reactToQuery: () => ({ status: 3 }),
    react: () => 'take',
    idOf: (count) => `id${count}`,
    receipt: (id, stat, from = '+447911123456', to = '+447700100000') =>
      any()?.deliver_sm(
        {
          source_addr: from.slice(1),
          source_addr_ton: 1,
          destination_addr: to.slice(1),
          dest_addr_ton: 1,
          esm_class: 4,
          short_message: `id:${id} sub:001 dlvrd:001 submit date:2611210620 done date:2611210620 stat:${stat} err:000 text:`,
        },
        () => {},
      ),
    sendInbound: (from, to, text) =>
      new Promise((resolve) => {
        any()?.deliver_sm(
          {
            source_addr: from.slice(1),
            source_addr_ton: 1,
            destination_addr: to.slice(1),
            dest_addr_ton: 1,
            short_message: text,
          },
          () => resolve(),
        )
      }),
    deliver: (fields) =>
      new Promise((resolve) => {
        any()?.deliver_sm(
          { source_addr: contact.slice(1), source_addr_ton: 1, dest_addr_ton: 1, ...fields },
          ({ command_status: status }) => resolve(status),
        )
      }),
    cut,
    close: () => {
      cut()
      server.close()
    },
  }
  return smsc
}

let numbers = 0

/** Gives a tenant a British number with SMS, as a purchase would. */
export const giveNumber = async ({ db }: Pick<World, 'db'>, { id: account }: Pick<Tenant, 'id'>) => {
  const number = `+4477001${String(10_000 + numbers++)}`
  const [did, channel] = [uuid(), uuid()]
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${account}, ${did}, ${number}, 'g', 'GB', '', 'mobile', 'n', 1, 0, 'ACTIVE', '2099-01-01')`
  await db.run`
    insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
      supports_sms_in, supports_sms_out)
    values (${account}, ${channel}, ${did}, ${number}, 'n', 'GB', true, true)`
  return { number, channel: `SMS${channel}`, did }
}

export const contact = '+447911123456'

type Body = Reply['body']

/** An installation that sends messages over carriers of the test. */
export type SmsWorld = World & {
  send(who: Tenant, from: string, text: string, more?: { to?: string; send_at?: string }): ReturnType<World['call']>
  messageOf(who: Tenant, printed: string): Promise<Body>
  /** Waits until a message has one of the states. */
  waitForStatus(who: Tenant, printed: string, ...states: string[]): Promise<Body>
  inspect(printed: string): Promise<Body>
  /** Connects a carrier and waits for its bind. Returns the uuid of the connection. */
  connect(name: string, smsc: Pick<Smsc, 'port'>, settings?: object): Promise<string>
  change(connection: string, body: object): Promise<unknown>
  /** Moves the platform's clock. */
  advance(seconds: number): Promise<void>
  /** Stops the worker and its links, as a shutdown does; `start` starts them again. */
  stop(): Promise<void>
  /** Moves the clock to the late attempts of a receipt with an unknown id, at most half a minute. */
  retryReceipt(carrierId: string): Promise<void>
  start(): Promise<void>
}

/** Prices are 0.05, and 0.04 to Britain. */
export const setPrices = (world: World): Promise<void> =>
  putPrices(world, [
    { kind: 'sms_out', prefix: '', price: '0.05' },
    { kind: 'sms_out', prefix: '44', price: '0.04' },
  ])

export const makeSmsWorld = async (
  given: Parameters<typeof makeWorld>[2] = {},
  settings: NodeJS.ProcessEnv = {},
): Promise<SmsWorld> => {
  const world = await makeWorld(settings, {}, given)
  const { call, db, parts } = world
  await setPrices(world)
  let worker: ReturnType<typeof startWorker> | null = null
  const start = async () => {
    await parts.carriers.start()
    worker = startWorker({
      db,
      log: parts.log,
      kinds: [...smsJobs(parts), inboundMediaJob(parts)],
      schedules: smsSchedules(parts),
    })
  }
  const stop = async () => {
    await worker?.stop(1_000)
    await parts.carriers.close()
  }
  await start()
  const advance = async (seconds: number) => {
    const wanted = parts.clock.offset() + seconds
    await db.begin(async (tx) => {
      await tx.run`update clock set offset_seconds = offset_seconds + ${seconds}`
      await parts.changes.invalidate(tx, 'clock')
    })
    await until(async () => parts.clock.offset() >= wanted)
  }
  const messageOf = async (who: Tenant, printed: string) =>
    (await call(who, 'GET', `/open/sms/message/${printed}`)).body.message
  return {
    ...world,
    send: (who, from, text, { to = contact, ...more } = {}) =>
      call(who, 'POST', '/open/sms/send', { from_number: from, to_number: to, text, ...more }),
    messageOf,
    waitForStatus: async (who, printed, ...states) =>
      until(async () => {
        const message = await messageOf(who, printed)
        return states.includes(message.status) ? message : null
      }),
    inspect: async (printed) => (await call('operator', 'GET', `/operator/messages/${printed}`)).body,
    connect: async (name, smsc, settings = {}) => {
      const { body } = await call('operator', 'POST', '/operator/connections', {
        kind: 'smpp',
        name,
        settings: { host: '127.0.0.1', port: smsc.port, system_id: 'me', password: 'secret', ...settings },
      })
      const id: string = body.connection.uuid
      await until(async () => parts.carriers.state(id.slice(3))?.state === 'up')
      await parts.routing.ready()
      return id
    },
    change: (connection, body) => call('operator', 'PATCH', `/operator/connections/${connection}`, body),
    advance,
    retryReceipt: async (carrierId) => {
      let seen = false
      await until(async () => {
        const job = await db.maybe<{ seconds: number; attempts: number; runs: boolean }>`
          select ceil(extract(epoch from run_at - app_now()))::integer as seconds, attempts,
            leased_until is not null as runs
          from jobs where kind = 'sms.receipt' and payload ->> 'carrierId' = ${carrierId}`
        seen ||= job !== null
        if (!job) return seen
        if (job.runs) return false
        if (job.attempts >= 5) return true
        if (job.attempts > 0 && job.seconds > 0) await advance(job.seconds)
        return false
      })
    },
    stop,
    start,
  }
}

/** Runs a test with carriers of its own; removes them and their connections at its end. */
export const withSmscs =
  (world: SmsWorld, count: number, run: (smscs: Smsc[], t: TestContext) => Promise<void>) =>
  async (t: TestContext): Promise<void> => {
    const smscs = await Promise.all(Array.from({ length: count }, startSmsc))
    t.after(async () => {
      const { connections } = (await world.call('operator', 'GET', '/operator/connections')).body
      for (const { uuid: id } of connections) await world.call('operator', 'DELETE', `/operator/connections/${id}`)
      await until(async () =>
        connections.every(({ uuid: id }: Body) => world.parts.carriers.state(id.slice(3)) === null),
      )
      for (const smsc of smscs) smsc.close()
    })
    await run(smscs, t)
  }
