import assert from 'node:assert/strict'
import { test } from 'node:test'
import './database.ts' // ends what this file starts
import { needs } from './needs.ts'
import { startPlatform, until } from './platform.ts'
import { startPair } from './postgres-pair.ts'
import { oldest } from './servers.ts'

// DATABASE_URL names a primary and a standby of real clusters. The primary is killed, and the standby promoted.

const hasPair = needs('PostgreSQL 15', oldest !== null)
const secondsAfterPromotion = 5

test(
  'with two hosts in DATABASE_URL, writes succeed within 5 s of a promotion, nothing answers 500, and nothing is lost',
  hasPair,
  async () => {
    const { primary, standby } = await startPair()
    // The standby comes first: it may not be written, so it does not count.
    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
    const platform = await startPlatform(undefined, {
      DATABASE_URL: `postgres://postgres@${hosts}/trunkline?target_session_attrs=read-write`,
      TRUNKLINE_MASTER_KEY: 'a master key for these tests',
    })
    const accepted: string[] = []
    const statuses = new Set<number>()
    let last = 0
    const write = async () => {
      const name = `account ${accepted.length} ${statuses.size}`
      const { status } = await platform.call('POST', '/operator/accounts', { name })
      statuses.add(status)
      if (status === 201) accepted.push(name)
      last = status
      return status
    }
    const isReady = async () => (await platform.call('GET', '/readyz')).status === 200
    for (let i = 0; i < 10; i++) assert.equal(await write(), 201)
    assert.equal(await isReady(), true)

    await primary.kill()
    await until(async () => (await write()) === 503)
    await until(async () => !(await isReady()))
    await standby.ask('select pg_promote()')
    const promoted = performance.now()
    await until(async () => (await write()) === 201)
    const seconds = (performance.now() - promoted) / 1_000
    await until(isReady)
    assert.ok(seconds < secondsAfterPromotion, `writes after ${seconds} s`)
    assert.deepEqual([...statuses].sort(), [201, 503], `last ${last}`)
    const names = new Set(
      (await platform.call('GET', '/operator/accounts?limit=100')).body.accounts.map(
        ({ name }: { name: string }) => name,
      ),
    )
    assert.deepEqual(
      accepted.filter((name) => !names.has(name)),
      [],
    )

    // The remaining server becomes read-only: its connections are closed, idle ones, too.
    const sessions = async () =>
      (await standby.ask<{ pid: number }>("select pid from pg_stat_activity where application_name = 'trunkline'")).map(
        ({ pid }) => pid,
      )
    await until(async () => (await sessions()).length > 0)
    await standby.ask('alter system set default_transaction_read_only = on')
    await standby.ask('select pg_reload_conf()')
    await until(async () => (await write()) === 503)
    await until(async () => (await sessions()).length === 0)
    assert.equal((await platform.call('GET', '/readyz')).body.error_code, 'database_read_only')
    await standby.ask('set default_transaction_read_only = off', 'alter system reset default_transaction_read_only')
    await standby.ask('select pg_reload_conf()')
    await until(async () => (await write()) === 201)
    assert.equal(await platform.end(), 0)
  },
)
