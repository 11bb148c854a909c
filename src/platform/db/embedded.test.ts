import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { type EmbeddedOptions, startEmbedded } from './embedded.ts'
import { quoteIdentifier } from './identifier.ts'
import { isAlive } from './is-alive.ts'
import { connect, type Db } from './sql.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const isRoot = process.getuid?.() === 0
const onLinux = process.platform === 'linux' ? false : 'needs /proc'

/** Starts a server, runs the work and always stops the server. */
const during = async <T>(
  options: Partial<EmbeddedOptions> & { home: string },
  work: (db: Db, pid: number) => Promise<T>,
  role: 'url' | 'superuserUrl' = 'url',
) => {
  const server = await startEmbedded({ log: silent, ...options })
  const db = connect({ url: server[role] })
  try {
    return await work(db, server.pid())
  } finally {
    await db.end()
    await server.stop()
  }
}

const keep = (db: Db) => db.raw('create table if not exists kept as select 7 as n')
const storedRow = (db: Db) => db.one<{ n: number }>`select n from kept`

const shared = join(temporaryFolder(), 'home')

test('the first start creates a database, and a later one has its rows', async () => {
  const server = await during({ home: shared }, async (db, pid) => {
    await keep(db)
    return pid
  })
  assert.equal(isAlive(server), false, 'stop() waits for the end of the server')
  assert.deepEqual(await during({ home: shared }, storedRow), { n: 7 })
  assert.deepEqual(readdirSync(join(shared, 'postgres')), ['18'])
})

test('durability is on, and no file of the data folder turns it off', async () => {
  const settings = (db: Db) =>
    db.many<{ name: string; setting: string }>`
      select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums')`
  const configure = async (db: Db) => {
    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit'])
      await db.raw(`alter system set ${quoteIdentifier(name)} = off`)
  }
  await during({ home: shared }, configure, 'superuserUrl')
  await during({ home: shared }, async (db) => {
    const found = await settings(db)
    assert.equal(found.length, 4)
    for (const { name, setting } of found) assert.equal(setting, 'on', name)
  })
  await during({ home: shared }, (db) => db.raw('alter system reset all'), 'superuserUrl')
})

test('the log of the server contains neither statements nor their values, whatever a file of the data folder sets', async () => {
  const names = ['log_statement', 'log_duration', 'log_min_duration_statement', 'log_min_error_statement']
  const lengths = ['log_parameter_max_length', 'log_parameter_max_length_on_error']
  const lines: string[] = []
  const keepLine = (line: unknown) => void lines.push(String(line))
  const log = { info: keepLine, warn: keepLine, error: keepLine }
  const configure = async (db: Db) => {
    for (const [name, value] of [
      ...[
        ['log_statement', "'all'"],
        ['log_duration', 'on'],
        ['log_min_duration_statement', '0'],
      ],
      ...[
        ['log_min_error_statement', "'error'"],
        ['log_min_messages', "'debug1'"],
      ],
      ...lengths.map((name) => [name, '-1']),
    ])
      await db.raw(`alter system set ${quoteIdentifier(name ?? '')} = ${value}`)
  }
  await during({ home: shared }, configure, 'superuserUrl')
  const check = async (db: Db) => {
    const found = await db.many<{ name: string; setting: string }>`
      select name, setting from pg_settings where name = any(${[...names, ...lengths]}) order by name`
    assert.deepEqual(
      found.map(({ setting }) => setting),
      ['off', '-1', 'panic', '0', '0', 'none'],
    )
    await db.one`select ${'ZQXMARK'}::text`
    await assert.rejects(db.one`select ${'ZQXMARK'}::text::integer`)
    await assert.rejects(db.raw(`select 'ZQXMARK'::integer`))
    await db.raw('alter system reset all')
  }
  await during({ home: shared, log }, check, 'superuserUrl')
  assert.doesNotMatch(lines.join('\n'), /ZQXMARK/)
})

test('sort order is the same on every system', async () => {
  await during({ home: shared }, async (db) => {
    assert.deepEqual(
      await db.one`
      select lower('ÄÉ') as low, array(select t from unnest(array['b', 'a', 'B', 'ä']) t order by t) as sorted`,
      {
        low: 'äé',
        sorted: ['B', 'a', 'b', 'ä'],
      },
    )
  })
})

test('nothing listens on the network, and the socket requires the password', async () => {
  const server = await startEmbedded({ home: shared, log: silent })
  const url = new URL(server.url)
  const [right, none] = [connect({ url: url.href }), connect({ url: url.href.replace(url.password, 'guessed') })]
  assert.deepEqual(await right.many`show listen_addresses`, [{ listen_addresses: '' }])
  await assert.rejects(none.many`select`, { code: '28P01' })
  const folder = join(shared, 'postgres', '18')
  for (const [path, mode] of [
    [folder, 0o700],
    [join(folder, 'data'), 0o700],
    [join(folder, 'password'), 0o600],
  ] as const)
    assert.equal(statSync(path).mode & 0o777, mode, path)
  await Promise.all([right.end(), none.end()])
  await server.stop()
})

test('the server has a session of its own, where Ctrl-C does not reach it', { skip: onLinux }, async () => {
  await during({ home: shared }, async (_, pid) => {
    const [, , group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    assert.deepEqual([group, session], [String(pid), String(pid)])
  })
})

test('the server uses little memory at rest', { skip: onLinux }, async (t) => {
  await during({ home: shared }, async (db, pid) => {
    await db.many`select`
    const processes = readdirSync('/proc').filter((id) => {
      try {
        return readlinkSync(`/proc/${id}/cwd`) === readlinkSync(`/proc/${pid}/cwd`)
      } catch {
        return false
      }
    })
    const sizes = processes.map((id) =>
      Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))?.[1]),
    )
    const megabytes = Math.round(sizes.reduce((sum, size) => sum + size) / 1024)
    t.diagnostic(`${megabytes} MB in ${processes.length} processes, the guard and one connection included`)
    assert.ok(processes.length >= 6 && megabytes < 60, `${megabytes} MB in ${processes.length} processes`)
  })
})

test('a home may have a long name with spaces', async () => {
  const home = join(temporaryFolder(), 'my data', 'x'.repeat(120), 'ü')
  await during({ home }, keep)
  const server = await startEmbedded({ home, log: silent })
  const db = connect({ url: server.url })
  assert.deepEqual(await storedRow(db), { n: 7 })
  const socket = new URL(server.url).searchParams.get('host') ?? ''
  assert.ok(existsSync(socket))
  await db.end()
  await server.stop()
  assert.equal(existsSync(dirname(socket)), false, 'the short name is removed with the server')
})

test('a database of another major version is refused instead of replaced by a new one', async () => {
  const home = join(temporaryFolder(), 'home')
  mkdirSync(join(home, 'postgres', '17', 'data'), { recursive: true })
  await assert.rejects(
    startEmbedded({ home, log: silent }),
    /has a database of PostgreSQL 17, and this is PostgreSQL 18\.\d/,
  )
})

test('a program that cannot be run is reported with the remedy', async () => {
  const failing = (options: Partial<EmbeddedOptions>, why: RegExp) =>
    assert.rejects(startEmbedded({ home: join(temporaryFolder(), 'home'), log: silent, ...options }), why)
  await failing({ binaries: '/nowhere' }, /PostgreSQL in \/nowhere cannot be run.*ENOENT.*Set DATABASE_URL/)
  if (isRoot) await failing({ account: 'root' }, /no unprivileged account root/)
})
