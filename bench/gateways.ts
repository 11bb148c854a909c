import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Db } from '../src/platform/db/sql.ts'
import { type Store, sendsms, startKannel } from './kannel.ts'
import { post } from './load.ts'
import { from, key, startPlatform } from './platform.ts'
import type { Command, Report } from './sink.ts'

// The gateways of the benches of messages, and the SMSC that all of them send to.

/** Messages that a gateway may have on the way to the SMSC. */
const window = 100
const text = 'A message of sixty characters, as people would write one now'

/** The SMSC and receiver of callbacks of sink.ts, in its own process. */
export type Sink = {
  readonly pid: number
  readonly ports: { readonly smsc: number; readonly callbacks: number }
  ask(command: Command): Promise<Report>
  /** Waits for this many messages and callbacks, or until none has arrived for 5 s. */
  waitUntilDrained(messages: number, callbacks: number): Promise<Report>
  end(): void
}

export const startSink = async (): Promise<Sink> => {
  const child = fork(join(import.meta.dirname, 'sink.ts'))
  const [ports]: [Sink['ports']] = (await once(child, 'message')) as never // first message of sink.ts
  const ask = async (command: Command): Promise<Report> => {
    child.send(command)
    const [answer] = await once(child, 'message')
    return answer
  }
  const waitUntilDrained = async (messages: number, callbacks: number): Promise<Report> => {
    let last = await ask({ report: { arrivals: false } })
    for (let idle = 0; idle < 50; ) {
      if (last.arrived >= messages && last.called >= callbacks) break
      await setTimeout(100)
      const next = await ask({ report: { arrivals: false } })
      idle = next.arrived === last.arrived && next.called === last.called ? idle + 1 : 0
      last = next
    }
    return ask({ report: { arrivals: true } })
  }
  return { pid: child.pid ?? 0, ports, ask, waitUntilDrained, end: () => child.disconnect() }
}

export type Gateway = {
  readonly port: number
  /** Process ids. Kannel's count as those of Node do. */
  readonly node: readonly number[]
  readonly postgres: readonly number[]
  /** Absent without a database. */
  readonly db?: Db
  /** Address of the database for the superuser, if its statements are counted. */
  readonly superuserUrl?: string
  /** Returns the request of the n-th message. */
  request(n: number): Buffer
  stop(): Promise<void>
}

/** Eight digits of the number of the n-th handset. */
export const handset = (n: number): number => 10_000_000 + (n % 80_000_000)

const destination = (n: number) => `+4477${handset(n)}`

type TrunklineOptions = {
  /** Whether a webhook receives the receipts. */
  readonly receipts: boolean
  /** Whether a webhook receives inbound messages. */
  readonly inbound?: boolean
  /** Folder for a CPU profile; empty: none. */
  readonly profile?: string
  /** Whether pg_stat_statements counts statements. */
  readonly countsStatements?: boolean
}

/** Starts the platform with the SMSC as its carrier. @param rows messages already in the database */
export const startTrunkline = async (
  sink: Sink,
  rows: number,
  { receipts, inbound = false, profile = '', countsStatements = false }: TrunklineOptions,
): Promise<Gateway> => {
  const platform = await startPlatform(
    rows,
    {
      TRUNKLINE_ROLES: 'api,worker',
      TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true',
      TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
    },
    profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [],
    countsStatements,
  )
  const settings = { host: '127.0.0.1', port: sink.ports.smsc, system_id: 'bench', password: 'bench', window }
  await platform.operator('POST', '/operator/connections', { kind: 'smpp', name: 'sink', settings })
  const hook = { hook_url: `http://127.0.0.1:${sink.ports.callbacks}/`, channel_uuid: platform.channel }
  const events = [...(receipts ? ['sms.message.delivered'] : []), ...(inbound ? ['sms.message.received'] : [])]
  for (const event of events) {
    const answer = await fetch(`${platform.url}/open/webhooks/subscribe/${event}`, {
      method: 'POST',
      headers: { 'x-user-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(hook),
    })
    if (!answer.ok) throw new Error(`the subscription was refused: ${answer.status} ${await answer.text()}`)
  }
  await setTimeout(1500) // waits for the connection
  const headers = { 'x-user-api-key': key }
  return {
    port: platform.port,
    node: [platform.pid],
    postgres: [platform.postgres],
    db: platform.db,
    ...(countsStatements ? { superuserUrl: platform.superuserUrl } : {}),
    request: (n) =>
      post('/open/sms/send', headers, JSON.stringify({ from_number: from, to_number: destination(n), text })),
    stop: platform.stop,
  }
}

/** Starts Kannel with the SMSC as its carrier. */
export const startKannelGateway = async (sink: Sink, store: Store, receipts: boolean): Promise<Gateway> => {
  const callback = `http://127.0.0.1:${sink.ports.callbacks}/`
  const { port, pids, stop } = await startKannel(store, sink.ports.smsc, window, callback)
  await setTimeout(1000)
  return {
    port,
    node: pids,
    postgres: [],
    request: (n) => sendsms(from, destination(n), text, receipts ? `${callback}?to=4477${handset(n)}` : null),
    stop,
  }
}
