import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect } from '../../src/platform/db/sql.ts'
import { makeRelay } from '../chaos/relay.ts'
import { testDatabase } from '../database.ts'
import { needs } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import { freePort, runProgram } from './program.ts'

describe('behind PgBouncer in session mode', needs('pgbouncer'), () => {
  let platform: Platform
  let pooled: string

  const ends: (() => unknown)[] = []
  const life = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })

  before(async () => {
    const db = await testDatabase()
    const url = new URL(db.url)
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
pool_mode = session
default_pool_size = 40
`,
    )
    chmodSync(file, 0o644)
    // PgBouncer refuses to run as root.
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
    await runProgram(life, ['pgbouncer', ...user, file], folder).listens(port)
    pooled = `postgresql://anybody@127.0.0.1:${port}${url.pathname}`
    platform = await startPlatform(undefined, {
      DATABASE_URL: pooled,
      TRUNKLINE_MASTER_KEY: 'a master key for these tests',
      TRUNKLINE_SANDBOX: 'true',
    })
    life.after(() => platform.end())
  })

  test('session settings apply although the pooler drops those of the start-up packet', async () => {
    const own = connect({ url: pooled, connections: 1 })
    const shown = await own.one`select current_setting('jit') as jit, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`
    await own.end()
    assert.deepEqual(shown, { jit: 'off', statement: '30s', idle: '1min' })
  })

  test('an SMS is accepted and delivered', async () => {
    const { number } = await buyNumber(platform)
    const sent = await platform.call('POST', '/open/sms/send', {
      from_number: number,
      to_number: '+447700900123',
      text: 'through a pooler',
    })
    assert.equal(sent.status, 202, JSON.stringify(sent.body))
    await until(async () => {
      const { body } = await platform.call('GET', `/open/sms/message/${sent.body.message_uuid}`)
      return body.message.status === 'delivered'
    })
  })
})
