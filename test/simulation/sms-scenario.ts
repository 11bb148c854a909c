import { readConfig } from '../../src/config.ts'
import { openAccount } from '../../src/domains/accounts/ops.ts'
import { upsertConnection } from '../../src/domains/connections/ops.ts'
import { deposit } from '../../src/domains/ledger/ops.ts'
import { batchKind, submitKind } from '../../src/domains/sms/submit/message-slots.ts'
import type { Db } from '../../src/platform/db/sql.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import { networkOf } from './carrier.ts'
import type { SimulatedDatabase } from './database.ts'
import { followLeases } from './leases.ts'
import { inProcess, type Process, type Schedule, short } from './schedule.ts'
import { loadEach, log, nextJob, seal } from './services.ts'
import type { Processes, Scenario, Workload } from './simulation.ts'

// Messages from their acceptance to their receipts: batches, own jobs, carriers that lose answers, money and events.

type Modules = {
  readonly sql: typeof import('../../src/platform/db/sql.ts')
  readonly bus: typeof import('../../src/platform/db/invalidation-bus.ts')
  readonly worker: typeof import('../../src/platform/jobs/consume/worker.ts')
  readonly queue: typeof import('../../src/platform/jobs/queue.ts')
  readonly clock: typeof import('../../src/platform/lib/clock.ts')
  readonly metrics: typeof import('../../src/platform/http/metrics.ts')
  readonly router: typeof import('../../src/domains/sms/route/router.ts')
  readonly carriers: typeof import('../../src/domains/sms/submit/carriers.ts')
  readonly receipts: typeof import('../../src/domains/sms/receipts/receipt-processor.ts')
  readonly acceptor: typeof import('../../src/domains/sms/accept/message-acceptor.ts')
  readonly channels: typeof import('../../src/domains/sms/accept/channel-cache.ts')
  readonly jobs: typeof import('../../src/domains/sms/jobs.ts')
  readonly ops: typeof import('../../src/domains/sms/ops.ts')
}

/** One carrier for each way to treat a lost answer; the prefix of the recipient selects it. */
const carriers = [
  { policy: 'resubmit', prefix: '44', contact: '+447911123456' },
  { policy: 'hold', prefix: '33', contact: '+33612345678' },
  { policy: 'at_most_once', prefix: '49', contact: '+4915123456789' },
] as const

const price = 40_000
const deposited = 100_000_000

type Context = { readonly database: SimulatedDatabase; readonly modulesOf: (process: Process) => Modules }
type Sender = { readonly account: string; readonly number: string }

let numbers = 0

/** Opens an account with money and a number that can send. */
const makeSender = (db: Db): Promise<Sender> =>
  db.begin(async (tx) => {
    const account = await openAccount(tx, { name: 'simulated' })
    await deposit(tx, account, deposited, { kind: 'credit' })
    const number = `+44770${String(10_000_000 + numbers++).slice(1)}`
    const [did, channel] = [uuid(), uuid()]
    await tx.run`
      insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
        monthly_price, ppm, status_text, expires_at)
      values (${account}, ${did}, ${number}, 'g', 'GB', '', 'mobile', 'n', 1, 0, 'ACTIVE', 'infinity')`
    await tx.run`
      insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
        supports_sms_in, supports_sms_out)
      values (${account}, ${channel}, ${did}, ${number}, 'n', 'GB', true, true)`
    return { account, number }
  })

/** Starts the services of SMS in a process. */
const startServices = async (process: Process, { database, modulesOf }: Context) => {
  const m = modulesOf(process)
  const db = m.sql.connect({ url: database.url, connections: 4 })
  const clock = m.clock.makeClock()
  const changes = await m.bus.startInvalidationBus(db, () => {})
  const routing = m.router.makeRouter(db, seal, changes, () => {})
  await routing.ready()
  const receipts = m.receipts.makeReceiptProcessor(db, clock)
  const metrics = m.metrics.makeMetrics()
  const links = m.carriers.makeCarriers(
    { db, seal, changes, log, metrics },
    {
      ...{ inbound: async () => {}, unparsed: async () => {} },
      ...{ receipt: receipts.add, receiptIfSent: receipts.addIfSent },
    },
  )
  const accept = m.acceptor.makeMessageAcceptor(db, clock, true, (kind) =>
    m.queue.notify(kind === 'batch' ? batchKind : submitKind),
  )
  const sandboxAccounts = { has: () => false, exclude: () => {} }
  const prices = { of: () => price, ready: async () => {} }
  const services = { db, accept, channels: m.channels.makeChannelCache(db, changes), prices, routing, sandboxAccounts }
  await links.start()
  const config = readConfig({})
  const publicUrl = () => 'http://localhost'
  const kinds = m.jobs.smsJobs({
    ...{ db, changes, carriers: links, routing, clock, config, sandboxAccounts, receipts, seal, publicUrl },
  })
  const worker = m.worker.startWorker({ db, log, kinds })
  return {
    send: (message: Parameters<typeof m.ops.sendMessage>[3], account: string) =>
      m.ops.sendMessage(services, null, { id: account, a2pUs: false }, message),
    end: () => {
      changes.stop()
      void worker.stop(0)
    },
  }
}

type Services = Awaited<ReturnType<typeof startServices>>

/** An accepted message, with the order of request and answer among all of the schedule. */
type SentMessage = {
  readonly id: string
  readonly pair: string
  readonly process: Process
  readonly asked: number
  readonly answered: number
}

type MessageRow = { id: string; status: string; price: string; contact: string }
/** `parts`: how many the message has; those that no carrier was given have no row. */
type PartRow = { message_id: string; part: number; parts: number; status: string; carrier_id: string | null }

const unsent = ['failed', 'expired', 'unknown']
const final = ['sent', 'delivered', 'undelivered', 'rejected', ...unsent]

const makeWorkload = (context: Context, schedule: Schedule, processes: Processes, sender: Sender): Workload => {
  const { database } = context
  const network = networkOf(schedule)
  const running = new Map<Process, Services>()
  const accepted: SentMessage[] = []
  const planned = { ...schedule.faults }
  let order = 0
  database.watch = followLeases(schedule)

  const send = async (process: Process, { send: begin }: Services, to: string, text: string): Promise<void> => {
    const asked = ++order
    const id = await begin({ from: sender.number, to, text, sendAt: null }, sender.account)
    accepted.push({ id, pair: to, process, asked, answered: ++order })
    schedule.note(`message ${short(id)} is accepted`)
  }

  const judgeMessage = ({ id, status }: MessageRow, parts: readonly PartRow[], carrierOf: string) => {
    if (!final.includes(status)) schedule.violate(`message ${short(id)} is still ${status}`)
    const submitted = network.submissions.filter(({ message, isAccepted }) => message === id && isAccepted)
    if (['sent', 'delivered', 'undelivered'].includes(status) && submitted.length === 0)
      schedule.violate(`message ${short(id)} is ${status}, and no carrier has it`)
    const counts = Map.groupBy(submitted, ({ part }) => part)
    const isOnce = carrierOf === 'at_most_once' || !schedule.isFaulty
    for (const [part, { length }] of counts)
      if (isOnce && length > 1) schedule.violate(`part ${part} of message ${short(id)} was sent ${length} times`)
    for (const { part, status: stored, carrier_id } of parts) {
      const states = network.states(carrier_id)
      if (
        states.includes('delivered')
          ? stored !== 'delivered'
          : states.includes('undelivered') && stored !== 'undelivered'
      )
        schedule.violate(`part ${part} of message ${short(id)} is ${stored} after the receipts ${states}`)
    }
    const delivered = parts.filter((one) => one.status === 'delivered')
    const isDelivered = delivered.length > 0 && delivered.length === parts[0]?.parts
    if (isDelivered && status !== 'delivered' && !unsent.includes(status))
      schedule.violate(`message ${short(id)} is ${status}, and all of its parts are delivered`)
    if (status === 'delivered' && !isDelivered)
      schedule.violate(`message ${short(id)} is delivered, and one of its parts is not`)
  }

  /** Messages of a pair leave a process in the order of acceptance. */
  const judgeOrder = () => {
    const first = (id: string) =>
      network.submissions.findIndex(({ message, isAccepted }) => message === id && isAccepted)
    for (const one of accepted)
      for (const other of accepted) {
        if (one.pair !== other.pair || one.process !== other.process || one.answered >= other.asked) continue
        const [before, after] = [first(one.id), first(other.id)]
        const isHere = [before, after].every((n) => network.submissions[n]?.process === one.process)
        if (isHere && after < before)
          schedule.violate(`message ${short(other.id)} overtook ${short(one.id)}, accepted before it`)
      }
  }

  const judgeMoney = async (rows: readonly MessageRow[], parts: readonly PartRow[]) => {
    const [book] = await database.ask<{ balance: string; booked: string }>(
      `select balance * 1000000 as balance, (
        select sum(case when credit = 'balance' then amount else -amount end) * 1000000 from transfers
        where account_id = $1 and 'balance' in (debit, credit)) as booked
      from balances where account_id = $1`,
      [sender.account],
    )
    const paid = rows.filter(
      ({ id, status }) => !unsent.includes(status) || parts.some(({ message_id }) => message_id === id),
    )
    const owed = deposited - paid.reduce((sum, one) => sum + Math.round(Number(one.price) * 1_000_000), 0)
    if (Number(book?.balance) !== owed) schedule.violate(`the balance is ${book?.balance}, not ${owed}`)
    if (Number(book?.booked) !== owed) schedule.violate(`the transfers come to ${book?.booked}, not ${owed}`)
  }

  const judgeEvents = async (rows: readonly MessageRow[]) => {
    const events = await database.ask<{ name: string; uuid: string; status: string }>(
      `select name, payload ->> 'uuid' as uuid, payload ->> 'status' as status from events where account_id = $1`,
      [sender.account],
    )
    for (const { id, status } of rows) {
      const own = events.filter(({ uuid }) => uuid === `SMO${id}`)
      const names = own.map(({ name }) => name)
      const states = own.map(({ status }) => status)
      // A carrier that corrects its receipt leads a message of several parts back to `sent`.
      const isCorrected = network.submissions.some(
        ({ message, carrierId }) =>
          message === id &&
          network.states(carrierId).includes('delivered') &&
          network.states(carrierId).includes('undelivered'),
      )
      if (!isCorrected && new Set(states).size < states.length)
        schedule.violate(`message ${short(id)} has events twice: ${states}`)
      const expected = status === 'sent' || status === 'delivered' ? `sms.message.${status}` : 'sms.message.failed'
      if (!names.includes(expected)) schedule.violate(`message ${short(id)} is ${status}, and its events are ${names}`)
    }
  }

  return {
    boot: (process) => {
      const starting = startServices(process, context).then((services) => {
        process.isStarted = true
        running.set(process, services)
        return services
      })
      return () => {
        running.delete(process)
        network.drop(process)
        void starting.then(({ end }) => end())
      }
    },
    acts: Array.from({ length: 2 + schedule.below(4) }, (_, n) => ({
      label: `client sends message ${n + 1}`,
      go: () => {
        const process = processes.any()
        const services = process && running.get(process)
        const { contact } = schedule.pick([carriers[0], carriers[0], ...carriers])
        const text = schedule.random() < 0.15 ? 'long '.repeat(50) : `text ${n + 1}`
        if (process && services)
          void inProcess(schedule, process, () => send(process, services, contact, text)).catch(() => {})
      },
    })),
    nextDue: () => nextJob(database),
    judge: async () => {
      const rows = await database.ask<MessageRow>(
        'select id, status, price, contact from sms_messages where account_id = $1 order by id',
        [sender.account],
      )
      const parts = await database.ask<PartRow>(
        'select message_id, part, parts, status, carrier_id from sms_parts where account_id = $1',
        [sender.account],
      )
      for (const { id } of accepted)
        if (!rows.some((row) => row.id === id)) schedule.violate(`message ${short(id)} was accepted and is not stored`)
      for (const row of rows) {
        const own = parts.filter(({ message_id }) => message_id === row.id)
        judgeMessage(row, own, carriers.find(({ contact }) => contact === row.contact)?.policy ?? '')
      }
      if (planned.crashes + planned.pauses === 0) judgeOrder()
      await judgeMoney(rows, parts)
      await judgeEvents(rows)
    },
  }
}

export const sms: Scenario = {
  name: 'sms',
  prepare: async (database, slots, db) => {
    const modulesOf = await loadEach<Modules>(slots, async (from) => ({
      sql: await from('src/platform/db/sql.ts'),
      bus: await from('src/platform/db/invalidation-bus.ts'),
      worker: await from('src/platform/jobs/consume/worker.ts'),
      queue: await from('src/platform/jobs/queue.ts'),
      clock: await from('src/platform/lib/clock.ts'),
      metrics: await from('src/platform/http/metrics.ts'),
      router: await from('src/domains/sms/route/router.ts'),
      carriers: await from('src/domains/sms/submit/carriers.ts'),
      receipts: await from('src/domains/sms/receipts/receipt-processor.ts'),
      acceptor: await from('src/domains/sms/accept/message-acceptor.ts'),
      channels: await from('src/domains/sms/accept/channel-cache.ts'),
      jobs: await from('src/domains/sms/jobs.ts'),
      ops: await from('src/domains/sms/ops.ts'),
    }))
    const noBus = { on: () => {}, invalidate: async () => {}, invalidateLocally: () => {}, stop: () => {} }
    await db.begin(async (tx) => {
      for (const { policy, prefix } of carriers)
        await upsertConnection(tx, seal, noBus, {
          kind: 'smpp',
          name: policy,
          shared: true,
          settings: { host: '127.0.0.1', port: 1, system_id: policy, password: 'none', prefixes: [prefix], policy },
        })
    })
    return async (schedule, processes) =>
      makeWorkload({ database, modulesOf }, schedule, processes, await makeSender(db))
  },
}
