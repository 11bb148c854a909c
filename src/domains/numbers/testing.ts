import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { testDatabase } from '../../../test/database.ts'
import { assemble } from '../../assemble.ts'
import { readConfig } from '../../config.ts'
import { makeAlias } from '../../platform/http/alias.ts'
import { makeServer } from '../../platform/http/server.ts'
import { startWorker, type Worker } from '../../platform/jobs/consume/worker.ts'
import { micros } from '../../platform/lib/money.ts'
import { makeSeal } from '../../platform/lib/secret.ts'
import { issueKey, openAccount } from '../accounts/ops.ts'
import { deposit } from '../ledger/ops.ts'
import { makeSimulatorClient } from '../sandbox/simulator-client.ts'
import { smsRoutes } from '../sms/routes.ts'
import { loadCatalogue, stockSandbox } from './catalogue/load-catalogue.ts'
import { numberJobs } from './jobs.ts'
import { numberRoutes } from './routes.ts'

// For the tests of this folder.

type Answer = { status: number; body: { [key: string]: unknown } }

/**
 * Starts the shop with its catalogue over a real database, and the worker of its jobs.
 * @param seal the seal of another process on the same database
 */
export const openShop = async (seal = makeSeal(randomBytes(32))) => {
  const db = await testDatabase()
  await loadCatalogue(db)
  await db.begin(stockSandbox)
  const log = pino({ level: 'silent' })
  const parts = await assemble({
    config: readConfig({}),
    version: 'test',
    db,
    log,
    seal,
    simulator: makeSimulatorClient(() => null),
    publicUrl: () => 'http://127.0.0.1',
  })
  const server = { ...parts, tls: null, alias: makeAlias(null) }
  const app = makeServer(server, [...numberRoutes(parts), ...smsRoutes(parts)])
  let worker: Worker | undefined

  /** Opens an account with the given balance; `call` sends a request with its key. */
  const customer = async (balance = '100') => {
    const { id, key } = await db.begin(async (tx) => {
      const id = await openAccount(tx, { name: 'Customer', sandbox: true })
      const amount = micros(balance) ?? 0
      if (amount > 0) await deposit(tx, id, amount, { kind: 'credit' })
      return { id, key: (await issueKey(tx, id, 'test')).key }
    })
    const call = async (
      method: 'GET' | 'POST' | 'PUT' | 'DELETE',
      url: string,
      body?: object,
      headers: Record<string, string> = {},
    ): Promise<Answer> => {
      const answer = await app.inject({
        method,
        url,
        headers: { 'x-user-api-key': key, ...headers },
        ...(body ? { payload: body } : {}),
      })
      return { status: answer.statusCode, body: answer.json() }
    }
    const balanceNow = async () =>
      (await db.one<{ balance: string }>`select balance from balances where account_id = ${id}`).balance
    return { id, key, call, balance: balanceNow }
  }

  let serial = 100_000
  /** Creates a group with the given number of free numbers. */
  const group = async (id: string, size: number, iso = 'GB') => {
    await db.run`
      insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
        allow_number_selection, is_eligible_for_free_number, supplier)
      values (${id}, ${iso}, 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, 'test')`
    const first = serial
    serial += size
    const numbers = Array.from({ length: size }, (_, i) => `+441632${String(first + i).padStart(6, '0')}`)
    await db.run`
      insert into numbers (number, group_id, shuffle)
      select n, ${id}, (random() * 2147483647)::integer from unnest(${numbers}::text[]) n`
    await db.run`insert into number_stock (group_id, free) values (${id}, ${size})`
    return numbers
  }

  /** Moves the platform's clock. */
  const advance = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`

  return {
    db,
    parts,
    customer,
    group,
    advance,
    work: () => {
      worker = startWorker({ db, log, kinds: numberJobs(parts) })
    },
    close: async () => {
      await worker?.stop()
      await app.close()
      parts.changes.stop()
    },
  }
}
