import { readConfig } from '../../src/config.ts'
import { openAccount } from '../../src/domains/accounts/ops.ts'
import type { Db } from '../../src/platform/db/sql.ts'
import { noWakeUps } from '../../src/platform/db/wake-ups.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import type { Outbound } from '../../src/platform/lib/outbound.ts'
import type { SimulatedDatabase, Statement } from './database.ts'
import { inProcess, type Process, type Schedule } from './schedule.ts'
import { loadEach, log, seal } from './services.ts'
import type { Due, Processes, Scenario, Workload } from './simulation.ts'

// Deliveries of events to webhooks: leases, order, receivers that fail, and answers that are lost.

type Modules = {
  readonly sql: typeof import('../../src/platform/db/sql.ts')
  readonly bus: typeof import('../../src/platform/db/invalidation-bus.ts')
  readonly clock: typeof import('../../src/platform/lib/clock.ts')
  readonly metrics: typeof import('../../src/platform/http/metrics.ts')
  readonly quotas: typeof import('../../src/platform/http/quotas.ts')
  readonly exchange: typeof import('../../src/platform/lib/outbound-exchange.ts')
  readonly events: typeof import('../../src/domains/events/ops.ts')
  readonly engine: typeof import('../../src/domains/webhooks/delivery/delivery-engine.ts')
}

type Context = { readonly database: SimulatedDatabase; readonly modulesOf: (process: Process) => Modules }
type Subscriber = { readonly account: string; readonly webhooks: readonly { id: string; path: string }[] }

const leaseSeconds = 30
const paths = ['first', 'second']
const host = 'https://receiver.example/'

/** Opens an account with webhooks for one event. */
const makeSubscriber = (db: Db): Promise<Subscriber> =>
  db.begin(async (tx) => {
    const account = await openAccount(tx, { name: 'simulated' })
    const webhooks = paths.map((path) => ({ id: uuid(), path }))
    for (const { id, path } of webhooks) {
      await tx.run`
        insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
        values (${account}, ${id}, 'contact.created', 'contact.created', ${host + path}, ${seal.close('whsec_c2VjcmV0')},
          (select app_now()), (select app_now()))`
      await tx.run`insert into webhook_endpoint_leases (account_id, webhook_id) values (${account}, ${id})`
    }
    return { account, webhooks }
  })

/** A call to a receiver. `isAccepted`: the receiver answered 200. */
type Call = { readonly path: string; readonly event: number; isAccepted: boolean }

/** A recorded event, with the order of request and answer among all of the schedule. */
type RecordedEvent = {
  readonly event: number
  readonly conversation: string | null
  readonly asked: number
  readonly answered: number
}

/** The leases of webhooks, as the statements of the processes show them. */
const followWebhookLeases = (schedule: Schedule) => {
  const leases = new Map<string, { readonly process: Process; until: number }>()
  const watch = ({ process, at, text, values, rows }: Statement) => {
    if (!text.includes('webhook_endpoint_leases')) return
    const until = at + leaseSeconds * 1_000
    if (text.includes('with free as'))
      for (const { webhook_id } of rows) {
        const lease = leases.get(String(webhook_id))
        if (lease && lease.process !== process && lease.until > at)
          schedule.violate(`${process.name} claims a webhook that ${lease.process.name} holds`)
        leases.set(String(webhook_id), { process, until })
      }
    else if (text.includes('returning l.webhook_id'))
      for (const { webhook_id } of rows) {
        const lease = leases.get(String(webhook_id))
        if (lease?.process === process) lease.until = until
        else schedule.violate(`${process.name} extends the lease of a webhook that it does not hold`)
      }
    else if (text.includes('set owner = null'))
      for (const [id, lease] of leases) if (lease.process === process && String(values).includes(id)) leases.delete(id)
  }
  const isHeldBy = (process: Process, webhook: string) => {
    const lease = leases.get(webhook)
    return lease?.process === process && lease.until > schedule.now
  }
  return { watch, isHeldBy }
}

const makeWorkload = (context: Context, schedule: Schedule, processes: Processes, subscriber: Subscriber): Workload => {
  const { database, modulesOf } = context
  const { account, webhooks } = subscriber
  const databases = new Map<Process, Db>()
  const calls: Call[] = []
  const recorded: RecordedEvent[] = []
  const { watch, isHeldBy } = followWebhookLeases(schedule)
  database.watch = watch
  let failures = schedule.below(4)
  let order = 0

  const outboundOf = (process: Process): Outbound => {
    const { OutboundError } = modulesOf(process).exchange
    const refuse = async () => {
      throw new Error('webhooks only post')
    }
    return {
      ...{ check: async () => null, resolve: refuse, get: refuse, close: () => {} },
      post: async ({ url, body }) => {
        const path = url.slice(host.length)
        const { event } = JSON.parse(String(body)).number
        const webhook = webhooks.find((one) => one.path === path)
        const call = { path, event, isAccepted: false }
        calls.push(call)
        if (!webhook || !isHeldBy(process, webhook.id))
          schedule.violate(`${process.name} posts event ${event} to ${path} without holding the lease`)
        await schedule.park(`${process.name} posts event ${event} to ${path}`, process)
        const isLost = schedule.faults.lost > 0 && schedule.random() < 0.1
        if (isLost) schedule.faults.lost--
        const isFailing = failures > 0 && schedule.random() < 0.25
        if (isFailing) failures--
        call.isAccepted = !isFailing
        await schedule.park(`${process.name} gets the answer to event ${event} from ${path}`, process)
        if (isLost) throw new OutboundError('closed', 'the connection was lost')
        const status = isFailing ? 500 : 200
        return { status, headers: {}, retryAfter: null, excerpt: '', ms: schedule.pick([5, 5, 1_500]) }
      },
    }
  }

  const start = async (process: Process) => {
    const m = modulesOf(process)
    const db = m.sql.connect({ url: database.url, connections: 4 })
    const changes = await m.bus.startInvalidationBus(db, () => {})
    const outbound = outboundOf(process)
    const config = readConfig({})
    const engine = m.engine.startDeliveryEngine(
      {
        ...{ db, seal, changes, wakeUps: noWakeUps, log, config, version: '0.0.0', clock: m.clock.makeClock() },
        outbound: { of: () => outbound, close: () => {} },
        sandboxAccounts: { has: () => false, exclude: () => {} },
        quotas: m.quotas.makeQuotas(config.quotas, m.metrics.makeMetrics()),
      },
      { leaseSeconds },
    )
    process.isStarted = true
    databases.set(process, db)
    return () => {
      changes.stop()
      void engine.stop(0)
    }
  }

  const record = async (process: Process, db: Db, event: number, conversation: string | null): Promise<void> => {
    const asked = ++order
    const payload = { number: { event } }
    const drafts = [{ account, name: 'contact.created', channel: null, conversation, payload }] as const
    await db.begin((tx) => modulesOf(process).events.record(tx, drafts))
    recorded.push({ event, conversation, asked, answered: ++order })
    schedule.note(`event ${event} of ${conversation} is recorded`)
  }

  /** First attempts of a conversation are made in the order of its events. */
  const judgeOrder = (path: string) => {
    const first = (event: number) => calls.findIndex((call) => call.path === path && call.event === event)
    for (const one of recorded)
      for (const other of recorded)
        if (one.conversation !== null && one.conversation === other.conversation && one.answered < other.asked)
          if (first(other.event) < first(one.event))
            schedule.violate(`event ${other.event} reached ${path} before event ${one.event} of its conversation`)
  }

  return {
    boot: (process) => {
      const starting = start(process)
      return () => {
        databases.delete(process)
        void starting.then((end) => end())
      }
    },
    acts: Array.from({ length: 2 + schedule.below(5) }, (_, n) => ({
      label: `event ${n + 1} happens`,
      go: () => {
        const process = processes.any()
        const db = process && databases.get(process)
        const conversation = schedule.pick([null, 'c1', 'c1', 'c2'])
        if (db) void inProcess(schedule, process, () => record(process, db, n + 1, conversation)).catch(() => {})
      },
    })),
    nextDue: async (): Promise<Due | null> => {
      const [next] = await database.ask<{ at: string; leased: boolean }>(
        `select extract(epoch from greatest(d.next_at, l.hold_until, l.leased_until)) * 1000 + 1 as at,
          l.owner is not null as leased
        from webhook_deliveries d join webhook_endpoint_leases l using (account_id, webhook_id)
        where d.account_id = $1 and d.state = 'pending' order by 1 limit 1`,
        [account],
      )
      return next ? { at: Number(next.at), isLeased: next.leased } : null
    },
    judge: async () => {
      const rows = await database.ask<{ path: string; event: number; state: string }>(
        `select substr(w.hook_url, $2) as path, (e.payload -> 'number' ->> 'event')::integer as event, d.state
        from events e cross join webhooks w left join webhook_deliveries d
          on d.account_id = e.account_id and d.webhook_id = w.id and d.event_id = e.id
        where e.account_id = $1 and w.account_id = $1`,
        [account, host.length + 1],
      )
      for (const { event } of recorded)
        if (!rows.some((row) => row.event === event)) schedule.violate(`event ${event} was answered and is not stored`)
      for (const { path, event, state } of rows) {
        const isAccepted = calls.some((call) => call.path === path && call.event === event && call.isAccepted)
        if (!isAccepted) schedule.violate(`event ${event} never reached ${path}; its delivery is ${state}`)
        else if (state !== 'delivered') schedule.violate(`the delivery of event ${event} to ${path} is ${state}`)
      }
      for (const path of paths) judgeOrder(path)
    },
  }
}

export const webhooks: Scenario = {
  name: 'webhooks',
  prepare: async (database, slots, db) => {
    const modulesOf = await loadEach<Modules>(slots, async (from) => ({
      sql: await from('src/platform/db/sql.ts'),
      bus: await from('src/platform/db/invalidation-bus.ts'),
      clock: await from('src/platform/lib/clock.ts'),
      metrics: await from('src/platform/http/metrics.ts'),
      quotas: await from('src/platform/http/quotas.ts'),
      exchange: await from('src/platform/lib/outbound-exchange.ts'),
      events: await from('src/domains/events/ops.ts'),
      engine: await from('src/domains/webhooks/delivery/delivery-engine.ts'),
    }))
    return async (schedule, processes) =>
      makeWorkload({ database, modulesOf }, schedule, processes, await makeSubscriber(db))
  },
}
