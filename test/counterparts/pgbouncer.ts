import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeRelay } from '../chaos/relay.ts'
import { temporaryFolder } from '../servers.ts'
import { freePort, runProgram } from './program.ts'

/**
 * Starts PgBouncer in front of a database.
 * @returns the address of the database through it
 */
export const startPooler = async (
  life: { after(end: () => unknown): void },
  database: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<string> => {
  const url = new URL(database)
  const socket = `${url.searchParams.get('host')}/.s.PGSQL.5432`
  // Only its owner may open the socket of the database.
  const bridge = await makeRelay(life, url.searchParams.has('host') ? socket : Number(url.port || 5432))
  const [folder, port] = [temporaryFolder(), await freePort()]
  const file = join(folder, 'pgbouncer.ini')
  const server = `host=127.0.0.1 port=${bridge.port} user=${url.username} password=${url.password}`
  writeFileSync(
    file,
    `[databases]
* = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 40
`,
  )
  chmodSync(file, 0o644)
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  await runProgram(life, ['pgbouncer', ...user, file], folder).listens(port)
  return `postgresql://anybody@127.0.0.1:${port}${url.pathname}`
}
