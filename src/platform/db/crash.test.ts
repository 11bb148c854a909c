import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { runChild } from '../../../test/child.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { startEmbedded } from './embedded.ts'
import { isAlive } from './is-alive.ts'
import { connect } from './sql.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const onLinux = process.platform === 'linux' ? false : 'needs /proc'

const home = join(temporaryFolder(), 'home')
const data = join(home, 'postgres', '18', 'data')

const until = async (what: string, met: () => boolean, patience = 60_000) => {
  const end = Date.now() + patience
  while (!met()) {
    assert.ok(Date.now() < end, `not within ${patience} ms: ${what}`)
    await pause(5)
  }
}

/** The last file that a server removes. (Its process may stay a zombie for a second until init reaps it.) */
const isDown = () => !existsSync(join(data, 'postmaster.pid'))

/** A process that starts the server, prints its process id, and then adds rows and prints each acknowledged one. */
const writer = () =>
  runChild(`
    import { startEmbedded } from ${JSON.stringify(import.meta.resolve('./embedded.ts'))}
    import { connect } from ${JSON.stringify(import.meta.resolve('./sql.ts'))}
    const log = { info() {}, warn() {}, error() {} }
    const server = await startEmbedded({ home: ${JSON.stringify(home)}, log })
    const db = connect({ url: server.url })
    await db.raw('create table if not exists rows (n bigserial primary key, at timestamptz default now())')
    console.log(server.pid())
    const add = async () => {
      for (;;) console.log((await db.one\`insert into rows default values returning n\`).n)
    }
    await Promise.all([add(), add(), add(), add()])`)

/** Lets the process write for a while, and kills it. @returns the acknowledged rows */
const writeAndDie = async (rows: number) => {
  const child = writer()
  await child.readLine()
  const acknowledged: number[] = []
  while (acknowledged.length < rows) acknowledged.push(Number(await child.readLine()))
  const death = child.kill('SIGKILL')
  // Rows printed before the kill count too.
  for (;;) {
    const line = await child.readLine().catch(() => null)
    if (line === null) break
    if (/^\d+$/.test(line)) acknowledged.push(Number(line))
  }
  await death
  return acknowledged
}

const missing = async (acknowledged: number[]) => {
  const server = await startEmbedded({ home, log: silent })
  const db = connect({ url: server.url })
  const rows = await db.many<{ n: number }>`
    select n from unnest(${acknowledged}::bigint[]) n where not exists (select from rows where rows.n = n.n)`
  await db.end()
  await server.stop()
  return rows
}

/** The processes that work in the data folder: the server's own, and the guard. */
const inFolder = (): { pid: number; name: string }[] =>
  readdirSync('/proc').flatMap((id) => {
    try {
      if (readlinkSync(`/proc/${id}/cwd`) !== data) return []
      return [{ pid: Number(id), name: readFileSync(`/proc/${id}/comm`, 'utf8').trim() }]
    } catch {
      return []
    }
  })

test('after kill -9 of its owner the server stops by itself, and no acknowledged row is lost', async () => {
  for (let round = 0; round < (long ? 20 : 3); round++) {
    const acknowledged = await writeAndDie(200 + round * 50)
    await until('the server has shut down in order', isDown, 2_000)
    assert.deepEqual(await missing(acknowledged), [])
  }
})

test('a start at once after kill -9 works, and no acknowledged row is lost', async () => {
  for (let round = 0; round < (long ? 20 : 3); round++) {
    const acknowledged = await writeAndDie(200 + round * 50)
    assert.deepEqual(await missing(acknowledged), [])
  }
})

test('the next start stops a server whose guard was killed too', { skip: onLinux }, async () => {
  const child = writer()
  const orphan = Number(await child.readLine())
  const guard = inFolder().find(({ name }) => name !== 'postgres')
  assert.ok(guard, 'there is a guard')
  process.kill(guard.pid, 'SIGKILL')
  await child.kill('SIGKILL')
  assert.ok(isAlive(orphan))
  const said: string[] = []
  const server = await startEmbedded({ home, log: { ...silent, warn: (text: unknown) => said.push(String(text)) } })
  await server.stop()
  assert.match(said.join(), new RegExp(`earlier start \\(process ${orphan}\\) still runs`))
  await until('the orphan is gone', () => !isAlive(orphan))
})

test('a start after kill -9 of everything recovers, and no acknowledged row is lost', { skip: onLinux }, async () => {
  const child = writer()
  await child.readLine()
  const acknowledged: number[] = []
  while (acknowledged.length < 300) acknowledged.push(Number(await child.readLine()))
  for (const { pid } of inFolder()) process.kill(pid, 'SIGKILL')
  await child.kill('SIGKILL')
  assert.deepEqual(await missing(acknowledged), [])
})

test('a reused process id does not prevent a start', async () => {
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore' })
  const acknowledged = await writeAndDie(10)
  await until('the server has shut down', isDown)
  writeFileSync(join(data, 'postmaster.pid'), `${stranger.pid}\n${data}\n${Math.floor(Date.now() / 1000)}\n5432\n.\n\n`)
  assert.deepEqual(await missing(acknowledged), [])
  assert.equal(stranger.exitCode ?? stranger.signalCode, null, 'the stranger lives')
  stranger.kill('SIGKILL')
})

test('a server that dies is restarted, with every acknowledged row', async () => {
  const server = await startEmbedded({ home, log: silent })
  const db = connect({ url: server.url })
  const { n } = await db.one<{ n: number }>`insert into rows default values returning n`
  const first = server.pid()
  process.kill(first, 'SIGKILL')
  await until('another server runs', () => server.pid() !== first)
  assert.equal((await db.many`select from rows where n = ${n}`).length, 1)
  await db.end()
  await server.stop()
  assert.equal(isAlive(server.pid()), false)
})

test('a stop right after the server’s death also stops its restart', async () => {
  const server = await startEmbedded({ home, log: silent })
  process.kill(server.pid(), 'SIGKILL')
  await server.stop()
  assert.equal(isAlive(server.pid()), false)

  const said: string[] = []
  const other = await startEmbedded({ home, log: { ...silent, error: (text: unknown) => said.push(String(text)) } })
  process.kill(other.pid(), 'SIGKILL')
  await until('it is being started again', () => said.length > 0)
  await other.stop()
  assert.equal(isAlive(other.pid()), false)
  assert.deepEqual(await missing([]), [])
})

test('a first start that was killed before it named its database is completed', async () => {
  const server = await startEmbedded({ home, log: silent })
  const other = connect({ url: server.superuserUrl.replace('/trunkline?', '/template1?') })
  await other.raw('alter database trunkline rename to postgres')
  await other.end()
  await server.stop()
  assert.deepEqual(await missing([]), [])
})

/** A home whose first start was killed during initdb; null when initdb was faster than our polling. */
const halfMadeHome = async (): Promise<string | null> => {
  const home = join(temporaryFolder(), 'home')
  mkdirSync(home)
  const child = runChild(`
    import { startEmbedded } from ${JSON.stringify(import.meta.resolve('./embedded.ts'))}
    await startEmbedded({ home: ${JSON.stringify(home)}, log: { info() {}, warn() {}, error() {} } })`)
  const parent = join(home, 'postgres')
  const halfway = () =>
    existsSync(parent) && readdirSync(parent).some((name) => existsSync(join(parent, name, 'data', 'base')))
  await until('initdb is at work', halfway)
  await child.kill('SIGKILL')
  return existsSync(join(parent, '18')) ? null : home
}

test('a home whose first start was killed halfway can be started', { skip: onLinux }, async () => {
  let other: string | null = null
  for (let i = 0; i < 5 && other === null; i++) other = await halfMadeHome()
  assert.ok(other, 'none of five first starts was caught halfway')
  const server = await startEmbedded({ home: other, log: silent })
  assert.deepEqual(readdirSync(join(other, 'postgres')), ['18'])
  await server.stop()
})
