import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect, type Db } from '../src/platform/db/sql.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { type Filling, startDatabase } from './database.ts'
import { childrenOf } from './usage.ts'

// Runs the platform in its own process on its own database, with an account without limits.

export const key = `bench-${'x'.repeat(40)}`
export const operatorKey = `bench-operator-${'x'.repeat(30)}`
/** The number of the account. */
export const from = '+447700900001'

/** Starts a program that is killed when the bench exits. */
export const startChild = (file: string, env: NodeJS.ProcessEnv = {}, flags: string[] = []) => {
  const started = spawn(process.execPath, [...flags, join(import.meta.dirname, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  })
  process.once('exit', () => started.kill())
  return started
}
process.once('SIGTERM', () => process.exit(1))

/** Lifts the limits of the account and gives it money and a number to send from. */
const prepareAccount = async (db: Db, account: string, phone: string): Promise<string> => {
  const [number, channel] = [uuid(), uuid()]
  await db.run`update accounts set requests_per_minute = 100000000 where id = ${account}`
  await db.run`update balances set balance = 1000000 where account_id = ${account}`
  await db.run`insert into prices (kind, prefix, price) values ('sms_out', '', 0.04) on conflict do nothing`
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${account}, ${number}, ${phone}, 'bench', 'GB', '', 'mobile', 'bench', 1, 0, 'ACTIVE', 'infinity')`
  await db.run`
    insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
      supports_sms_in, supports_sms_out)
    values (${account}, ${channel}, ${number}, ${phone}, 'bench', 'GB', true, true)`
  return channel
}

/** Tells the platform what the bench wrote into its database. */
const announceChanges = async (db: Db): Promise<void> => {
  await db.run`insert into changes (topic) values ('accounts'), ('prices'), ('numbers') on conflict (topic) do update set version = changes.version + 1`
  await new Promise((resolve) => setTimeout(resolve, 1500)) // the platform polls for changes twice a second
}

export type Platform = {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly postgres: number
  readonly databaseUrl: string
  /** Address of the database for the superuser. */
  readonly superuserUrl: string
  /** Process ids of the simulator; none without the sandbox. */
  readonly simulator: readonly number[]
  readonly db: Db
  readonly account: string
  /** SMS channel of the number, `SMS…`. */
  readonly channel: string
  /** Calls the operator API. */
  operator(method: string, path: string, body?: object): Promise<unknown>
  /** Makes further accounts with a number each. Returns their keys. */
  addAccounts(phones: readonly string[]): Promise<string[]>
  /** Starts a further process of the installation. Returns its address. */
  addProcess(env: NodeJS.ProcessEnv): Promise<string>
  stop(): Promise<void>
}

/** @param data messages already in the database, or another filling @param countsStatements see startDatabase */
export const startPlatform = async (
  data: number | Filling,
  env: NodeJS.ProcessEnv = {},
  flags: string[] = [],
  countsStatements = false,
): Promise<Platform> => {
  const server = await startDatabase(data, countsStatements)
  const { home } = server
  const db = connect({ url: server.url, connections: 4 })
  const settings = {
    DATABASE_URL: server.url,
    TRUNKLINE_HOME: join(home, 'platform'),
    // Shared by the processes, whose homes may differ.
    TRUNKLINE_MEDIA_STORE: join(home, 'media'),
    TRUNKLINE_PORT: '0',
    TRUNKLINE_API_KEY: key,
    TRUNKLINE_OPERATOR_KEY: operatorKey,
    TRUNKLINE_LOG: 'warn',
  }
  const started: ChildProcess[] = []
  const startProcess = async (env: NodeJS.ProcessEnv, flags: string[] = []) => {
    const readyFile = join(home, `ready-${started.length}.json`)
    const process: ChildProcess & { stdout: NodeJS.ReadableStream } = startChild(
      '../src/main.ts',
      { ...settings, TRUNKLINE_READY_FILE: readyFile, ...env },
      flags,
    )
    started.push(process)
    for await (const line of createInterface(process.stdout)) if (line.includes('is ready')) break
    const { url }: { url: string } = JSON.parse(readFileSync(readyFile, 'utf8'))
    return { process, url }
  }
  const { process, url } = await startProcess(env, flags)
  const { account } = await db.one<{ account: string }>`select id as account from accounts limit 1`
  const channel = await prepareAccount(db, account, from)
  await announceChanges(db)

  const operator: Platform['operator'] = async (method, path, body) => {
    const headers = { 'x-operator-key': operatorKey, 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }

  return {
    url,
    port: Number(new URL(url).port),
    pid: process.pid ?? 0,
    postgres: server.pid(),
    databaseUrl: server.url,
    superuserUrl: server.superuserUrl,
    simulator: childrenOf(process.pid ?? 0),
    db,
    account,
    channel: `SMS${channel}`,
    operator,
    addAccounts: async (phones) => {
      const keys: string[] = []
      for (const phone of phones) {
        // The shapes of the contracts createAccount and createKey.
        const { account } = (await operator('POST', '/operator/accounts', { name: phone })) as {
          account: { uuid: string }
        }
        const path = `/operator/accounts/${account.uuid}/keys`
        const made = (await operator('POST', path, { label: 'bench' })) as { key: string }
        await prepareAccount(db, account.uuid.slice(3), phone)
        keys.push(made.key)
      }
      await announceChanges(db)
      return keys
    },
    addProcess: async (env) => {
      const further = join(home, `platform-${started.length}`)
      // A home belongs to one process; the master key to the installation.
      cpSync(join(settings.TRUNKLINE_HOME, 'keys'), join(further, 'keys'), { recursive: true })
      return (await startProcess({ TRUNKLINE_HOME: further, ...env })).url
    },
    stop: async () => {
      for (const one of started) {
        one.kill()
        await once(one, 'exit')
      }
      await db.end()
      await server.stop()
    },
  }
}
