import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { advance } from '../../src/domains/sandbox/store.ts'
import { invalidateTopic } from '../../src/platform/db/invalidation-bus.ts'
import { connect, type Db } from '../../src/platform/db/sql.ts'
import { freePort } from '../counterparts/program.ts'
import { Receiver } from '../doubles/receiver.ts'
import { apiKey, type Platform, startPlatform, stockNumbers, until } from '../platform.ts'
import { makeSimulatorHome, password, type Simulator, startSimulator } from '../simulator.ts'
import { type LoadBalancer, startProxy } from './haproxy.ts'
import { type PatroniCluster, startPatroni } from './patroni.ts'
import { killIn, makeClusterFolder } from './processes.ts'

// An installation as docs/operating/failover.md describes it: two processes with the role `api` behind HAProxy, two with
// the role `worker`, and a database that fails over.

/** The number of the account. */
export const ownNumber = '+447700900900'

/** The price of a message in USD. */
export const price = 0.04

/** A process of ours, in a home of its own, at the same port after each start. */
export type PlatformProcess = {
  readonly name: string
  /** SIGTERM. @returns its exit status */
  stop(): Promise<number | NodeJS.Signals | null>
  kill(): Promise<void>
  /** Starts the stopped process. @param tree of another version. Default: this one */
  start(tree?: string): Promise<void>
  running(): Platform
}

export type Installation = {
  readonly patroni: PatroniCluster
  readonly proxy: LoadBalancer
  readonly apis: readonly PlatformProcess[]
  readonly workers: readonly PlatformProcess[]
  readonly carrier: Simulator
  readonly receiver: Receiver
  /** Statements through HAProxy, as the processes make them. */
  readonly db: Db
  /** Environment of the processes and of commands. */
  readonly environment: Readonly<Record<string, string>>
  /** A request through HAProxy. @returns status 0 when there was no answer */
  request(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string }>
}

const makeProcess = async (
  folder: string,
  name: string,
  env: Readonly<Record<string, string>>,
  tree?: string,
): Promise<PlatformProcess> => {
  const home = join(folder, name)
  mkdirSync(home, { mode: 0o711 })
  // Earlier versions refuse a setting that they do not know.
  const drain = { TRUNKLINE_DRAIN_SECONDS: '3' }
  const start = (from?: string) => startPlatform(home, { ...env, ...(from === undefined ? drain : {}) }, from)
  let running = await start(tree)
  return {
    name,
    stop: () => running.end(),
    kill: async () => void (await running.end('SIGKILL')),
    start: async (from) => {
      running = await start(from)
    },
    running: () => running,
  }
}

/** Gives the first account money, a price, a number, a carrier, and webhooks for its messages. */
export const prepareAccount = async (
  platform: Pick<Platform, 'call' | 'url'>,
  carrier: Pick<Simulator, 'smppPort'>,
  receiver: Receiver | null,
): Promise<void> => {
  const call = async (method: string, path: string, body?: object) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { account } = await call('GET', '/open/info')
  const path = `/operator/accounts/${account.uuid}`
  await call('PATCH', path, { requests_per_minute: 1_000_000 })
  await call('POST', `${path}/credit`, { amount: '100000' })
  await call('PUT', '/operator/prices', { prices: [{ kind: 'sms_out', prefix: '44', price: String(price) }] })
  await stockNumbers(platform, `number,country,type,features,monthly_price\n${ownNumber},GB,mobile,sms_in|sms_out,1\n`)
  await call('POST', '/open/numbers/purchase', { number: ownNumber })
  const settings = {
    ...{ host: '127.0.0.1', port: carrier.smppPort, system_id: 'cluster', password, prefixes: ['44'] },
    ...{ response_seconds: 2, enquire_seconds: 2, reconnect_seconds: 1 },
  }
  await call('POST', '/operator/connections', { kind: 'smpp', name: 'cluster', settings })
  for (const event of receiver ? ['sms.message.sent', 'sms.message.delivered', 'sms.message.failed'] : [])
    await call('POST', `/open/webhooks/subscribe/${event}`, {
      hook_url: receiver?.url('/cluster'),
      on_number: ownNumber,
    })
}

/** Settings that every process of an installation of a test needs, whichever its database. */
export const commonEnvironment: Readonly<Record<string, string>> = {
  TRUNKLINE_MASTER_KEY: 'a master key for these tests',
  TRUNKLINE_SANDBOX: 'false',
  TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true',
  TRUNKLINE_ALLOW_HTTP_HOOKS: 'true',
}

/** Moves the clock of the platform forward, which questions for receipts and the end of a validity follow. Leases do not. */
export const moveClock = (db: Db, seconds: number): Promise<void> =>
  db.begin(async (tx) => {
    await advance(tx, seconds)
    await invalidateTopic(tx, 'clock')
  })

/** Whether a message reaches the carrier: routes, prices and binds are loaded a moment after they were set. */
export const isSending = async ({ call }: Platform): Promise<boolean> => {
  const body = { from_number: ownNumber, to_number: '+447700900555', text: 'first' }
  const sent = await call('POST', '/open/sms/send', body)
  if (sent.status !== 202) return false
  await until(async () => {
    const { message } = (await call('GET', `/open/sms/message/${sent.body.message_uuid}`)).body
    return message.status === 'delivered'
  })
  return true
}

/**
 * Starts the installation, which ends with the test.
 * @param receiptTries how often the carrier sends a receipt that is refused. Default: until it is accepted
 * @param tree of another version for the processes. Default: this one
 */
export const startInstallation = async (
  t: TestContext,
  { receiptTries = 0, tree }: { readonly receiptTries?: number; readonly tree?: string } = {},
): Promise<Installation> => {
  const folder = makeClusterFolder()
  t.after(() => killIn(folder))
  const receiver = await new Receiver().up()
  t.after(() => receiver.down())
  const carrier = await startSimulator(t, await makeSimulatorHome(t), ['--receipt-tries', String(receiptTries)])
  const patroni = await startPatroni(folder)
  const ports = [await freePort(), await freePort()]
  const proxy = await startProxy(folder, patroni.nodes, ports)
  const files = join(folder, 'files')
  mkdirSync(files)
  const environment = {
    ...commonEnvironment,
    DATABASE_URL: patroni.urlAt(proxy.databasePort),
    TRUNKLINE_PUBLIC_URL: `http://127.0.0.1:${proxy.httpPort}`,
    TRUNKLINE_MEDIA_STORE: files,
  }
  const start = (name: string, roles: string, port: number) =>
    makeProcess(folder, name, { ...environment, TRUNKLINE_ROLES: roles, TRUNKLINE_PORT: String(port) }, tree)
  const db = connect({ url: environment.DATABASE_URL, connections: 1 })
  t.after(() => db.end())
  const first = await start('api-1', 'api', ports[0] ?? 0)
  const second = await start('api-2', 'api', ports[1] ?? 0)
  const workers = [await start('worker-1', 'worker', 0), await start('worker-2', 'worker', 0)]
  await prepareAccount(first.running(), carrier, receiver)
  await until(() => isSending(first.running()))
  const base = `http://127.0.0.1:${proxy.httpPort}`
  const request: Installation['request'] = async (method, path, body, headers = {}) => {
    try {
      const answer = await fetch(base + path, {
        method,
        signal: AbortSignal.timeout(70_000),
        headers: { 'x-user-api-key': apiKey, 'content-type': 'application/json', ...headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      return { status: answer.status, text: await answer.text() }
    } catch (error) {
      return { status: 0, text: String(error) }
    }
  }
  return { patroni, proxy, apis: [first, second], workers, carrier, receiver, db, environment, request }
}
