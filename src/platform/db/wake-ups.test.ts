import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRelay } from '../../../test/chaos/relay.ts'
import { startPooler } from '../../../test/counterparts/pgbouncer.ts'
import { testDatabase } from '../../../test/database.ts'
import { atEnd } from '../../../test/endings.ts'
import { needs } from '../../../test/needs.ts'
import { until } from '../../../test/platform.ts'
import { startInvalidationBus } from './invalidation-bus.ts'
import { startWakeUps, type WakeUpOptions, type WakeUps } from './wake-ups.ts'

const db = await testDatabase()

/** Ends before the database. */
const life = { after: atEnd }

/** Starts wake-ups whose warnings are collected. */
const start = (options: Partial<WakeUpOptions> = {}): WakeUps & { readonly warnings: string[] } => {
  const warnings: string[] = []
  const log = { warn: (_: object, text: string) => void warnings.push(text), info: () => {} }
  const wakeUps = startWakeUps({ url: db.url, db, log, reconnectMs: 10, ...options })
  life.after(wakeUps.stop)
  return { ...wakeUps, warnings }
}

const isListening = (wakeUps: WakeUps) => until(async () => wakeUps.isListening())
const fails = (error: unknown) => assert.fail(String(error))

test('a process is woken by the topics that another process publishes, and not by its own', async () => {
  const [one, other] = [start(), start()]
  const woken: string[] = []
  await Promise.all([isListening(one), isListening(other)])
  other.on('jobs', () => woken.push('jobs of the other'))
  other.on('inbox', () => woken.push('inbox of the other'))
  one.on('jobs', () => woken.push('own jobs'))
  one.publish('jobs')
  one.publish('inbox')
  await until(async () => woken.length === 2)
  other.publish('jobs')
  await until(async () => woken.length === 3)
  assert.deepEqual(woken, ['jobs of the other', 'inbox of the other', 'own jobs'])
})

test('a flood of publications sends four notifications in a second at most, and the last one arrives', async () => {
  const [one, other] = [start(), start()]
  await Promise.all([isListening(one), isListening(other)])
  let woken = 0
  let isLast = false
  other.on('deliveries', () => woken++)
  other.on('jobs', () => {
    isLast = true
  })
  const began = performance.now()
  for (let i = 0; i < 200; i++) {
    one.publish('deliveries')
    await db.one`select ${i}::integer as i`
  }
  one.publish('jobs')
  await until(async () => isLast)
  const most = 2 + Math.ceil((performance.now() - began) / 250)
  assert.ok(woken >= 1 && woken <= most, `${woken} notifications, at most ${most}`)
})

test('a changed topic reaches a process that does not poll, whoever writes it', async () => {
  const trusted = start({ isTrusted: true })
  await isListening(trusted)
  const [bus, other] = [await startInvalidationBus(db, fails), await startInvalidationBus(db, fails, trusted)]
  life.after(bus.stop)
  life.after(other.stop)
  const changed: string[] = []
  other.on('prices', () => changed.push('prices'))
  other.on('numbers', () => changed.push('numbers'))
  await db.begin((tx) => bus.invalidate(tx, 'prices'))
  await until(async () => changed.length === 1)
  await db.run`
    insert into changes (topic) values ('numbers') on conflict (topic) do update set version = changes.version + 1`
  await until(async () => changed.length === 2)
  assert.deepEqual(changed, ['prices', 'numbers'])
})

test('a connection that is terminated is opened again, and what was missed meanwhile is looked for', async () => {
  const wakeUps = start()
  await isListening(wakeUps)
  const states: boolean[] = []
  wakeUps.on('jobs', () => states.push(wakeUps.isListening()))
  const kill = () => db.run`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'trunkline wake-ups'`
  assert.ok((await kill()) >= 1)
  await until(async () => states.length === 2)
  assert.deepEqual(states, [false, true])
  assert.equal(wakeUps.warnings.filter((text) => text.includes('lost')).length, 1)
  const other = start()
  await isListening(other)
  other.publish('jobs')
  await until(async () => states.length === 3)
})

test('a connection on which notifications stop to arrive is replaced', async () => {
  // A relay that swallows everything looks like a firewall that forgot the connection.
  const url = new URL(db.url)
  const socket = `${url.searchParams.get('host')}/.s.PGSQL.5432`
  const relay = await makeRelay(life, url.searchParams.has('host') ? socket : Number(url.port || 5432))
  url.searchParams.delete('host')
  url.host = `127.0.0.1:${relay.port}`
  const wakeUps = start({ url: url.href, testMs: 200, testEveryMs: 10 })
  await isListening(wakeUps)
  relay.mute()
  await until(async () => !wakeUps.isListening())
  relay.up()
  await isListening(wakeUps)
  assert.equal(wakeUps.warnings.length, 1)
})

test('an installation of one process publishes nothing', async () => {
  const [one, other] = [start({ isAlone: true }), start()]
  await Promise.all([isListening(one), isListening(other)])
  const woken: string[] = []
  other.on('jobs', () => woken.push('jobs'))
  other.on('inbox', () => woken.push('inbox'))
  one.publish('jobs')
  const third = start()
  await isListening(third)
  third.publish('inbox')
  await until(async () => woken.length > 0)
  assert.deepEqual(woken, ['inbox'])
})

test(
  'behind a pooler in transaction mode, a process polls and logs it once; its notifications reach others',
  needs('pgbouncer'),
  async () => {
    const pooled = start({ url: await startPooler(life, db.url, 'transaction'), testMs: 100, testEveryMs: 10 })
    const direct = start()
    await isListening(direct)
    await until(async () => pooled.warnings.length > 0)
    let woken = 0
    direct.on('jobs', () => woken++)
    const bus = await startInvalidationBus(db, fails, pooled)
    life.after(bus.stop)
    let changes = 0
    bus.on('tokens', () => changes++)
    await db.begin((tx) => bus.invalidate(tx, 'tokens'))
    // The second is the poll.
    await until(async () => changes >= 2)
    pooled.publish('jobs')
    await until(async () => woken > 0)
    assert.equal(pooled.isListening(), false)
    assert.equal(pooled.warnings.length, 1)
    assert.match(String(pooled.warnings), /pooler in transaction mode: this process polls/)
  },
)
