import { execFileSync, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { osAccountFor, plainEnvironment, spawnOptionsFor } from '../src/platform/db/os-account.ts'
import { atEnd } from './endings.ts'
import { until } from './platform.ts'
import { memoryFolder, oldest } from './servers.ts'

/** A server of PostgreSQL 15 on a port of the loopback, with the superuser `postgres` and without passwords. */
export type PairedServer = {
  readonly port: number
  /** Runs statements on a connection of its own. @returns the rows of the last one */
  ask<Row extends pg.QueryResultRow>(...texts: string[]): Promise<Row[]>
  /** Kills the server with all its processes. */
  kill(): Promise<void>
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return address && typeof address === 'object' ? address.port : 0
}

/** @param bin folder of the programs @param data an initialised folder */
const startOn = async (bin: string, data: string, folder: string, options: object): Promise<PairedServer> => {
  const port = await freePort()
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' }
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { stdio: 'ignore', detached: true, ...options },
  )
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  const ask = async <Row extends pg.QueryResultRow>(...texts: string[]): Promise<Row[]> => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    try {
      let rows: Row[] = []
      for (const text of texts) rows = (await client.query<Row>(text)).rows
      return rows
    } finally {
      await client.end().catch(() => {})
    }
  }
  const kill = async () => {
    // Its processes have groups of their own, and end when they miss their parent.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  }
  atEnd(kill)
  await until(() =>
    ask('select 1').then(
      () => true,
      () => false,
    ),
  )
  return { port, ask, kill }
}

/**
 * Starts a primary with an empty database `trunkline`, and a standby that streams from it: a commit waits for the
 * standby. Requires PostgreSQL 15.
 */
export const startPair = async (): Promise<{ primary: PairedServer; standby: PairedServer }> => {
  const bin = oldest
  if (bin === null) throw new Error('PostgreSQL 15 is not installed')
  const folder = memoryFolder()
  const account = osAccountFor(folder)
  const options = { ...spawnOptionsFor(account), env: plainEnvironment(), cwd: '/' }
  if (account) execFileSync('chown', [`${account.uid}:${account.gid}`, folder])
  const run = (program: string, args: string[]) => execFileSync(join(bin, program), args, { ...options, stdio: 'pipe' })
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  run('initdb', ['-D', first, '-U', 'postgres', '--auth=trust', '-N', '-E', 'UTF8', '--locale=C'])
  const primary = await startOn(bin, first, folder, options)
  await primary.ask('create database trunkline')
  run('pg_basebackup', [
    '-h',
    '127.0.0.1',
    '-p',
    String(primary.port),
    '-U',
    'postgres',
    '-D',
    second,
    '-R',
    '-N',
    '-c',
    'fast',
  ])
  const standby = await startOn(bin, second, folder, options)
  await until(async () => (await primary.ask('select from pg_stat_replication')).length === 1)
  await primary.ask("alter system set synchronous_standby_names = '*'")
  await primary.ask('select pg_reload_conf()')
  return { primary, standby }
}
