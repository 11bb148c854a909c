import { firstAccount, issueKey, openAccount } from './accounts/ops.ts'
import { setLimits } from './calls/limits.ts'
import type { Config } from './config.ts'
import { keepConnection } from './connections/ops.ts'
import type { Db, Tx } from './db/sql.ts'
import { auditSystem } from './http/audit.ts'
import { deposit } from './ledger/ops.ts'
import { micros } from './lib/money.ts'
import { makeChannel } from './msgapp/channels/ops.ts'
import { loadCatalogue, stockSandbox } from './numbers/catalogue.ts'
import { issueOperatorKey } from './operators/ops.ts'
import type { Parts } from './parts.ts'
import { listPrices } from './prices/ops.ts'
import type { Carrier } from './sandbox/child.ts'
import { addUser } from './users/ops.ts'

/** What only the first start shows. */
export type FirstKeys = { apiKey: string; operatorKey: string }

const people = [
  { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', status: 'ACTIVE' },
  { first_name: 'Grace', last_name: 'Hopper', email: 'grace@example.com', status: 'ACTIVE' },
  { first_name: 'Alan', last_name: 'Turing', email: 'alan@example.com', status: 'SUSPENDED' },
] as const

/** The sandbox's list prices, USD a segment or a minute. An operator sets real ones. */
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

const furnishSandbox = async (tx: Tx, account: string) => {
  await deposit(tx, account, micros('100') ?? 0, { kind: 'credit', note: 'The sandbox’s welcome' })
  for (const person of people) await addUser(tx, account, person)
  // Whoever tries things out is no thief: every destination, and nothing but the balance to hold it up.
  const limits = { calls_at_a_time: 1_000, attempts_per_minute: 10_000, spend_per_day: '100000', destinations: [''] }
  await setLimits(tx, account, limits)
  const prices = sandboxPrices.map(([kind, prefix, price]) => ({ kind, prefix, price, effectiveAt: null }))
  await listPrices(tx, prices)
}

/** The number of the sandbox's first channel: kept free by Ofcom for drama, so that nobody has it, and in no catalogue. One of
 *  London's, which are valid numbers to those who check them; those of mobiles (+447700900…) are not. */
const chatNumber = '+442079460000'

/**
 * Keeps the connection to the sandbox's chat network, and once gives the first account a channel there, a business.
 * @returns the connection
 */
export const furnishChat = async (
  { db, seal, changes, simulator }: Pick<Parts, 'db' | 'seal' | 'changes' | 'simulator'>,
  { chatPort, token }: Pick<Carrier, 'chatPort' | 'token'>,
): Promise<string> => {
  await simulator.behave(chatNumber, { business: true })
  return await db.begin(async (tx) => {
    const settings = { host: '127.0.0.1', port: chatPort, token }
    const connection = await keepConnection(tx, seal, changes, {
      kind: 'sandbox',
      name: 'sandbox-chat',
      settings,
      shared: true,
    })
    const isNew = await tx.run`
      insert into facts (name, value) values ('sandbox-channel', 'true') on conflict do nothing`
    const first = await firstAccount(tx)
    if (isNew === 1 && first)
      await makeChannel(tx, changes, first, {
        connection: { id: connection, kind: 'sandbox' },
        number: chatNumber,
        name: 'Default',
      })
    return connection
  })
}

/** Keeps the connections to the sandbox's carrier of texts and to its carrier of calls. @returns them */
export const furnishLines = (
  { db, seal, changes }: Pick<Parts, 'db' | 'seal' | 'changes'>,
  { smppPort, sipPort, password }: Pick<Carrier, 'smppPort' | 'sipPort' | 'password'>,
): Promise<{ sms: string; trunk: string }> => {
  const common = { host: '127.0.0.1', password, sandbox: true }
  const smpp = { ...common, port: smppPort, system_id: 'trunkline' }
  const sip = { ...common, port: sipPort, username: 'trunkline', register: true }
  return db.begin(async (tx) => ({
    sms: await keepConnection(tx, seal, changes, { kind: 'smpp', name: 'sandbox', settings: smpp }),
    trunk: await keepConnection(tx, seal, changes, { kind: 'sip-trunk', name: 'sandbox-trunk', settings: sip }),
  }))
}

/** Adds an operator key at the start, and records that when the key is new. */
const addOperatorKey = async (tx: Tx, label: string, key: string | null) => {
  const issued = await issueOperatorKey(tx, label, { key: key ?? undefined })
  const after = { label, role: issued.role, last_four: issued.key.slice(-4) }
  if (issued.isNew) await auditSystem(tx, 'createOperatorKey', { target: issued.uuid, after })
  return issued
}

/** The first keys, in place of any that nobody has seen. */
const firstKeys = async (tx: Tx, account: string, config: Config): Promise<FirstKeys> => {
  await tx.run`delete from api_keys where account_id = ${account} and label = 'first'`
  await tx.run`delete from operator_keys where label = 'first'`
  const { key } = await issueKey(tx, account, 'first', config.apiKey ?? undefined)
  const operator = await addOperatorKey(tx, 'first', config.operatorKey)
  return { apiKey: key, operatorKey: operator.key }
}

/** Notes that a person has been shown the first keys: from now on they stay. */
export const keysShown = (db: Db) => db.run`
  insert into facts (name, value) values ('keys-shown', 'true') on conflict do nothing`

/**
 * Makes what the first start of an installation makes: the first account with its key, the operator's key, and in the
 * sandbox money, users, prices and numbers. Later starts see to the keys that the settings name, and to new data of the
 * catalogue.
 */
export const prepare = async (db: Db, config: Config): Promise<FirstKeys | null> => {
  const keys = await db.begin(async (tx) => {
    await tx.run`lock table facts in share row exclusive mode`
    const known = await firstAccount(tx)
    const shown = await tx.maybe`select 1 from facts where name = 'keys-shown'`
    // Keys of a first start that ended before it could show them are of no use to anybody.
    if (known && !shown) return await firstKeys(tx, known, config)
    if (known) {
      if (config.apiKey) await issueKey(tx, known, 'settings', config.apiKey)
      if (config.operatorKey) await addOperatorKey(tx, 'settings', config.operatorKey)
      return null
    }
    const account = await openAccount(tx, { name: 'Default', sandbox: config.sandbox })
    await tx.run`insert into facts (name, value) values ('first-account', ${{ account }})`
    if (config.sandbox) await furnishSandbox(tx, account)
    return await firstKeys(tx, account, config)
  })
  await loadCatalogue(db)
  if (config.sandbox) await db.begin(stockSandbox)
  return keys
}
