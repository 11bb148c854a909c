import { randomBytes } from 'node:crypto'
import { after, describe } from 'node:test'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { connect, type Db } from '../src/platform/db/sql.ts'
import { atEnd, runEndings } from './endings.ts'
import { fullForm, needs } from './needs.ts'
import { oldest, type Server, startServer, variables } from './servers.ts'

/** A database that only its test uses, with the schema and no rows. */
export type TestDatabase = Db & { readonly url: string }

after(runEndings)

const started = new Map<string, Promise<Server>>()

/** The run's server; when a file is run by itself, a server of this process. */
const serverUrl = async (variable: string, binaries?: string): Promise<string> => {
  const given = process.env[variable]
  if (given) return given
  const known = started.get(variable)
  if (known) return (await known).url
  const server = startServer({ durable: false, ...(binaries ? { binaries } : {}) })
  started.set(variable, server)
  // Registered first, so that the server stops after its databases were dropped.
  atEnd(async () => {
    started.delete(variable)
    await server.then(({ stop }) => stop()).catch(() => {})
  })
  return (await server).url
}

const withDatabase = (url: string, database: string) => {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}

const clone = async (template: string): Promise<TestDatabase> => {
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`
  const administer = async (work: (db: Db) => Promise<unknown>) => {
    const db = connect({ url: withDatabase(template, 'template1'), connections: 1, unlimited: true })
    try {
      await work(db)
    } finally {
      await db.end()
    }
  }
  // Measured in memory, with the drop: 28 ms of processor time by copying files, 132 ms through the WAL.
  const source = new URL(template).pathname.slice(1)
  await administer((db) =>
    db.raw(`create database ${quoteIdentifier(name)} template ${quoteIdentifier(source)} strategy file_copy`),
  )
  const url = withDatabase(template, name)
  const db = connect({ url })
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= db.end()
    return ended
  }
  atEnd(async () => {
    await end()
    // Not by force: that fails when an autovacuum worker, which is a superuser's, is in the database.
    await administer(async (db) => {
      await db.raw(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
        [name],
      )
      await db.raw(`drop database if exists ${quoteIdentifier(name)}`)
    })
  })
  return { ...db, url, end }
}

const onNewest = async () => clone(await serverUrl(variables.newest))
const onOldest = async () => clone(await serverUrl(variables.oldest, oldest ?? undefined))

/**
 * Creates a migrated, empty database, dropped at the end of the file. Runs on PostgreSQL 18, or on 15 where `npm test`
 * repeats the SQL of the domains.
 */
export const testDatabase = process.env.TRUNKLINE_TEST_POSTGRES === '15' ? onOldest : onNewest

/**
 * Defines the same suite for the newest and the oldest supported PostgreSQL, so that the SQL is tested on both.
 * @param suite receives the function that creates a database on the server under test
 */
export const onEachPostgres = (suite: (database: () => Promise<TestDatabase>) => void): void => {
  describe('on PostgreSQL 18', () => suite(onNewest))
  const isFull = fullForm('the SQL of the domains on PostgreSQL 15')
  describe('on PostgreSQL 15', isFull.skip ? isFull : needs('PostgreSQL 15', oldest !== null), () => suite(onOldest))
}
