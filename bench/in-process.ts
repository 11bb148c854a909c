import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { assemble } from '../src/assemble.ts'
import { readConfig } from '../src/config.ts'
import { issueKey, openAccount } from '../src/domains/accounts/ops.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect, type Db } from '../src/platform/db/sql.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'
import { buildApp } from '../src/start-roles.ts'

/** Assembles a platform in this process, without sockets and jobs. `patient` has one connection without a time limit. */
export const assembleInProcess = async (url: string, connections = 8) => {
  const db = connect({ url, connections })
  const patient = connect({ url, connections: 1, unlimited: true })
  await migrate(patient)
  const parts = await assemble({
    config: readConfig({}),
    version: 'bench',
    db,
    log: pino({ level: 'warn' }),
    seal: makeSeal(randomBytes(32)),
    simulator: makeSimulatorClient(() => null),
    publicUrl: () => 'http://127.0.0.1',
  })
  parts.lifecycle.ready = true
  const app = await buildApp(parts)
  await app.ready()
  const end = async () => {
    parts.changes.stop()
    await app.close()
    await parts.networks.close()
    await db.end()
    await patient.end()
  }
  return { db, patient, parts, app, end }
}

/** Opens an account of the sandbox whose requests are not limited. */
export const openCustomer = (db: Db) =>
  db.begin(async (tx) => {
    const id = await openAccount(tx, { name: 'Bench', requestsPerMinute: 100_000_000, sandbox: true })
    return { id, key: (await issueKey(tx, id, 'bench')).key }
  })
