import { createServer, connect as dial, type Socket } from 'node:net'
import { join } from 'node:path'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { testDatabase } from '../database.ts'
import { temporaryFolder } from '../servers.ts'
import { makeWorld, type World } from '../world.ts'

/** A world whose database is unreachable: the relay to it is cut, and accepts no new connection. */
export const makeCutWorld = async (): Promise<World> => {
  const database = await testDatabase()
  const url = new URL(database.url)
  // The test server listens on a socket in its folder; the relay, which can be cut, does so, too.
  const folder = temporaryFolder()
  const file = `.s.PGSQL.${url.searchParams.get('port') ?? (url.port || '5432')}`
  const target = join(url.searchParams.get('host') ?? '', file)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = dial(target)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(join(folder, file), resolve))
  url.searchParams.set('host', folder)
  const db = { ...connect({ url: url.href }), url: url.href }
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' }, {}, { db })
  server.close()
  for (const socket of open) socket.destroy()
  return world
}

/** A world with a fault: the tables that every request reads are renamed. */
export const makeBrokenWorld = async (): Promise<World> => {
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
  for (const table of ['api_keys', 'operator_keys', 'signing_keys'])
    await world.db.raw(`alter table ${quoteIdentifier(table)} rename to ${quoteIdentifier(`lost_${table}`)}`)
  return world
}
