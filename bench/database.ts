import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type EmbeddedDatabase, startEmbedded } from '../src/platform/db/embedded.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect, type Db } from '../src/platform/db/sql.ts'
import { grantForTests, temporaryFolder } from '../test/servers.ts'

// Databases of benches. A database that already holds data is built once, stored under .cache/bench and copied for each
// run.

const root = join(import.meta.dirname, '..')
const cache = join(root, '.cache/bench')
const silentLog = { info: () => {}, warn: () => {}, error: console.error }

/**
 * SQL that adds messages of 1,000 other accounts over 90 days: half SMS with one part each, half of the messaging app in
 * conversations of 50. Ids are ordered by time, as those of the platform.
 */
const fillStatements = (rows: number): string[] => {
  const idOf = (kind: string) => `(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7'
    || lpad(to_hex(n % 4096), 3, '0') || '8' || substr(md5('${kind}' || n), 1, 15))::uuid`
  const accountOf = (n: string) => `md5('account ' || (${n}) % 1000)::uuid`
  const channelOf = (n: string) => `md5('channel ' || (${n}) % 1000)::uuid`
  const half = Math.ceil(rows / 2)
  const series = `(select n, now() - interval '90 days' * (1 - n / ${half}::double precision) as at
    from generate_series(1, ${half}) n) s`
  const chatOf = `n % ${Math.max(1, Math.ceil(half / 50))}`
  const peerOf = `'44' || (7300000000 + ${chatOf}) || '@c.us'`
  return [
    `insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
      status, created_at, updated_at)
    select ${accountOf('n')}, ${idOf('sms')}, ${channelOf('n')}, 'outbound', '+44' || (7300000000 + n % 100000),
      '+44' || (7200000000 + n % 1000), 'A message of sixty characters, as people would write one now', 'gsm7', 1, 0.04,
      'delivered', at, at
    from ${series}`,
    `insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
    select ${accountOf('n')}, ${idOf('sms')}, 1, md5('carrier')::uuid, 'old' || n, 'delivered', at, at from ${series}`,
    `insert into msgapp_chats (account_id, channel_id, peer, number, remote_id, last_at, last_message_id)
    select ${accountOf(chatOf)}, ${channelOf(chatOf)}, ${peerOf}, '+44' || (7300000000 + ${chatOf}), ${peerOf}, max(at),
      md5('last ' || ${chatOf})::uuid
    from ${series} group by ${chatOf}`,
    `insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, network_id, at, ack,
      created_at, updated_at)
    select ${accountOf(chatOf)}, ${idOf('chat')}, ${channelOf(chatOf)}, ${peerOf},
      case when n % 2 = 0 then 'inbound' else 'outbound' end, case when n % 2 = 0 then 'user' else 'api' end,
      'A message of sixty characters, as people would write one now', 'old' || n, at, 3, at, at
    from ${series}`,
    'vacuum analyze',
    'checkpoint',
  ]
}

/** Copies a folder to the disk: what the kernel writes later would hold up commits within a measurement. */
const copy = (from: string, to: string): void => {
  execFileSync('cp', ['-a', `${from}/.`, to])
  execFileSync('sync', ['--file-system', to])
}

/** Data that a database already holds. */
export type Filling = {
  /** One word: a newer filling of the name replaces older ones in the cache. */
  readonly name: string
  readonly about: string
  /** Changes with the data. */
  readonly version: string
  /** @param db without time limits, with the schema */
  fill(db: Db): Promise<void>
}

/** Messages of many accounts. */
const messages = (rows: number): Filling => ({
  name: 'messages',
  about: `${rows} messages`,
  version: fillStatements(rows).join(),
  fill: async (db) => {
    for (const statement of fillStatements(rows)) await db.raw(statement)
  },
})

/** Builds a home with a filled database. */
const build = async (filling: Filling, target: string): Promise<void> => {
  console.error(`building a database with ${filling.about}, once; it is stored in .cache/bench`)
  const home = temporaryFolder('trunkline-bench-')
  try {
    const server = await startEmbedded({ home, log: silentLog, durable: false })
    await grantForTests(server.superuserUrl)
    const db = connect({ url: server.url, connections: 1, unlimited: true })
    await migrate(db)
    await filling.fill(db)
    await db.end()
    await server.stop()
    for (const old of globSync(`${filling.name}-*`, { cwd: cache }))
      rmSync(join(cache, old), { recursive: true, force: true })
    mkdirSync(`${target}.new`, { recursive: true })
    copy(home, `${target}.new`)
    renameSync(`${target}.new`, target)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Returns the folder of the filled database for this schema; builds it if needed, and removes older ones. */
const filledHome = async (filling: Filling): Promise<string> => {
  const digest = createHash('sha256').update(filling.version)
  for (const file of globSync('src/platform/db/migrations/**/*.sql', { cwd: root }).sort())
    digest.update(readFileSync(join(root, file)))
  const target = join(cache, `${filling.name}-${digest.digest('hex').slice(0, 16)}`)
  if (!existsSync(target)) await build(filling, target)
  return target
}

/** Loads pg_stat_statements into the server of a home, from its next start on. */
const loadStatementCounter = async (home: string): Promise<void> => {
  const server = await startEmbedded({ home, log: silentLog })
  const db = connect({ url: server.superuserUrl, connections: 1 })
  await db.raw(`alter system set shared_preload_libraries = 'pg_stat_statements'`)
  await db.raw(`alter system set pg_stat_statements.track = 'all'`)
  await db.raw('create extension if not exists pg_stat_statements')
  await db.end()
  await server.stop()
}

export type BenchDatabase = EmbeddedDatabase & { readonly home: string }

/**
 * Starts a durable PostgreSQL in a temporary folder, which `stop` removes.
 * @param data messages already in the migrated database, or another filling; 0: a new database without a schema
 * @param countsStatements whether pg_stat_statements counts statements, nested ones included
 */
export const startDatabase = async (data: number | Filling, countsStatements = false): Promise<BenchDatabase> => {
  const filling = typeof data === 'number' ? data > 0 && messages(data) : data
  const filled = filling ? await filledHome(filling) : null
  const home = temporaryFolder('trunkline-bench-')
  if (filled !== null) copy(filled, home)
  if (countsStatements) await loadStatementCounter(home)
  const server = await startEmbedded({ home, log: silentLog })
  await grantForTests(server.superuserUrl)
  return {
    ...server,
    home,
    stop: async () => {
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
