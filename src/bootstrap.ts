import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from './config.ts'
import { firstAccount, issueKey, openAccount } from './domains/accounts/ops.ts'
import { setLimits } from './domains/calls/control/call-limits.ts'
import { upsertConnection } from './domains/connections/ops.ts'
import { deposit } from './domains/ledger/ops.ts'
import { makeChannel } from './domains/msgapp/channels/ops.ts'
import { loadCatalogue, stockSandbox } from './domains/numbers/catalogue/load-catalogue.ts'
import { issueOperatorKey } from './domains/operators/ops.ts'
import { seedPrices } from './domains/prices/ops.ts'
import type { SimulatorProcess } from './domains/sandbox/simulator-process.ts'
import { addUser } from './domains/users/ops.ts'
import { openSession } from './platform/db/database-session.ts'
import type { Db, Sql, Tx } from './platform/db/sql.ts'
import { auditSystem } from './platform/http/audit.ts'
import { micros } from './platform/lib/money.ts'
import type { Services } from './services.ts'

/** Keys that are printed at the first start only. */
export type InitialKeys = { apiKey: string; operatorKey: string }

const sandboxUsers = [
  { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', status: 'ACTIVE' },
  { first_name: 'Grace', last_name: 'Hopper', email: 'grace@example.com', status: 'ACTIVE' },
  { first_name: 'Alan', last_name: 'Turing', email: 'alan@example.com', status: 'SUSPENDED' },
] as const

/** List prices of the sandbox in USD per segment or minute. An operator sets real ones. */
const sandboxPrices = [
  ['sms_out', '', '0.05'],
  ['sms_out', '1', '0.008'],
  ['sms_out', '33', '0.06'],
  ['sms_out', '44', '0.04'],
  ['sms_out', '49', '0.07'],
  ['sms_out', '55', '0.03'],
  ['sms_out', '81', '0.07'],
  ['call_out', '', '0.05'],
  ['call_out', '1', '0.01'],
  ['call_out', '44', '0.012'],
  ['call_in', '', '0.005'],
] as const

const setUpSandboxAccount = async (tx: Tx, account: string) => {
  await deposit(tx, account, micros('100') ?? 0, { kind: 'credit', note: 'Sandbox credit' })
  for (const person of sandboxUsers) await addUser(tx, account, person)
  // A sandbox account may call every destination; only its balance limits it.
  const limits = { calls_at_a_time: 1_000, attempts_per_minute: 10_000, spend_per_day: '100000', destinations: [''] }
  await setLimits(tx, account, limits)
  const prices = sandboxPrices.map(([kind, prefix, price]) => ({ kind, prefix, price, effectiveAt: null }))
  await seedPrices(tx, prices)
}

/** Number of the sandbox's first channel, from the London range that Ofcom reserves for drama; no catalogue lists it.
 *  Validators accept this range, but reject the reserved mobile range (+447700900…). */
const sandboxChatNumber = '+442079460000'

/**
 * Stores the connection to the sandbox's chat network. Once, adds a business channel there for the first account.
 * @returns the id of the connection
 */
export const setUpSandboxChat = async (
  { db, seal, changes, simulator }: Pick<Services, 'db' | 'seal' | 'changes' | 'simulator'>,
  { chatPort, token }: Pick<SimulatorProcess, 'chatPort' | 'token'>,
): Promise<string> => {
  await simulator.configure(sandboxChatNumber, { business: true })
  return await db.begin(async (tx) => {
    const settings = { host: '127.0.0.1', port: chatPort, token }
    const connection = await upsertConnection(tx, seal, changes, {
      kind: 'sandbox',
      name: 'sandbox-chat',
      settings,
      shared: true,
    })
    const isNew = await tx.run`
      insert into installation_state (name, value) values ('sandbox-channel', 'true') on conflict do nothing`
    const first = await firstAccount(tx)
    if (isNew === 1 && first)
      await makeChannel(tx, changes, first, {
        isSandbox: () => true,
        connection: { id: connection, kind: 'sandbox' },
        number: sandboxChatNumber,
        name: 'Default',
      })
    return connection
  })
}

/** Stores the connections to the sandbox's SMS carrier and to its SIP trunk. @returns their ids */
export const setUpSandboxCarriers = (
  { db, seal, changes }: Pick<Services, 'db' | 'seal' | 'changes'>,
  { smppPort, sipPort, password }: Pick<SimulatorProcess, 'smppPort' | 'sipPort' | 'password'>,
): Promise<{ sms: string; trunk: string }> => {
  const common = { host: '127.0.0.1', password, sandbox: true }
  const smpp = { ...common, port: smppPort, system_id: 'trunkline' }
  const sip = { ...common, port: sipPort, username: 'trunkline', register: true }
  return db.begin(async (tx) => ({
    sms: await upsertConnection(tx, seal, changes, { kind: 'smpp', name: 'sandbox', settings: smpp }),
    trunk: await upsertConnection(tx, seal, changes, { kind: 'sip-trunk', name: 'sandbox-trunk', settings: sip }),
  }))
}

/** Adds an operator key at the start, with an audit row when the key is new. */
const addOperatorKey = async (tx: Tx, label: string, key: string | null) => {
  const issued = await issueOperatorKey(tx, label, { key: key ?? undefined })
  const after = { label, role: issued.role, last_four: issued.key.slice(-4) }
  if (issued.isNew) await auditSystem(tx, 'createOperatorKey', { target: issued.uuid, after })
  return issued
}

/** Issues the initial keys and deletes earlier ones that were never printed. */
const issueInitialKeys = async (tx: Tx, account: string, config: Config): Promise<InitialKeys> => {
  await tx.run`delete from api_keys where account_id = ${account} and label = 'first'`
  await tx.run`delete from operator_keys where label = 'first'`
  const { key } = await issueKey(tx, account, 'first', config.apiKey ?? undefined)
  const operator = await addOperatorKey(tx, 'first', config.operatorKey)
  return { apiKey: key, operatorKey: operator.key }
}

/** Records that the initial keys were printed: later starts do not replace them. */
export const recordKeysPrinted = (db: Db) => db.run`
  insert into installation_state (name, value) values ('keys-shown', 'true') on conflict do nothing`

/** Milliseconds between looks while another process makes the first account. */
const firstStartPollMs = 200

/** The right to make and print the first keys. */
type FirstStart = { end(): Promise<void> }

const areKeysPrinted = async (db: Sql): Promise<boolean> =>
  (await db.maybe`select 1 from installation_state where name = 'keys-shown'`) !== null

/**
 * Takes the right to make and print the first keys, for one of several processes that start together. It ends with the
 * process, so that the next start replaces keys that were never printed.
 * @param url of the database, for a connection that holds the right
 * @returns null if the keys are printed, or another process has the right and the first account exists
 */
export const takeFirstStart = async (db: Db, url: string): Promise<FirstStart | null> => {
  while (!(await areKeysPrinted(db))) {
    const session = await openSession(url)
    const { taken } = await session.one<{ taken: boolean }>`
      select pg_try_advisory_lock(hashtext('trunkline first start')) as taken`
    if (taken) return session
    await session.end()
    if (await firstAccount(db)) return null
    await pause(firstStartPollMs)
  }
  return null
}

/**
 * Creates the first account with its key and the operator's key; in the sandbox also money, users, prices and numbers.
 * Later starts add the keys of the settings and load new catalogue data.
 * @param isFirst whether this process makes the first keys, if they were never printed
 * @returns the initial keys to print; null at later starts
 */
export const bootstrap = async (db: Db, config: Config, isFirst = true): Promise<InitialKeys | null> => {
  const keys = await db.begin(async (tx) => {
    await tx.run`lock table installation_state in share row exclusive mode`
    const known = await firstAccount(tx)
    // An earlier first start ended before it printed its keys: replace them.
    if (known && isFirst && !(await areKeysPrinted(tx))) return await issueInitialKeys(tx, known, config)
    if (known) {
      if (config.apiKey) await issueKey(tx, known, 'settings', config.apiKey)
      if (config.operatorKey) await addOperatorKey(tx, 'settings', config.operatorKey)
      return null
    }
    const account = await openAccount(tx, { name: 'Default', sandbox: config.sandbox })
    await tx.run`insert into installation_state (name, value) values ('first-account', ${{ account }})`
    if (config.sandbox) await setUpSandboxAccount(tx, account)
    return await issueInitialKeys(tx, account, config)
  })
  await loadCatalogue(db)
  if (config.sandbox) await db.begin(stockSandbox)
  return keys
}
