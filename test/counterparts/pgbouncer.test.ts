import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from '../../src/platform/db/sql.ts'
import { testDatabase } from '../database.ts'
import { needs } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { startPooler } from './pgbouncer.ts'

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
    pooled = await startPooler(life, db.url, 'session')
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

for (const mode of ['transaction', 'statement'] as const)
  test(
    `a start behind PgBouncer in ${mode} mode ends with the setting and the version`,
    needs('pgbouncer'),
    async (t) => {
      const db = await testDatabase()
      const pooled = await startPooler(t, db.url, mode)
      const settings = { DATABASE_URL: pooled, TRUNKLINE_MASTER_KEY: 'a master key for these tests' }
      await assert.rejects(
        startPlatform(undefined, settings),
        /ended at its start \(1\).*DATABASE_URL.*pool_mode.*PgBouncer 1\.21/s,
      )
    },
  )
