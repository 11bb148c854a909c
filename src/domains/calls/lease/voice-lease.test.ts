import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { until } from '../../../../test/platform.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld } from '../../../../test/world.ts'
import type { Config } from '../../../config.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { leaseHeldMs } from '../limits.ts'
import { beginCall, callAnswered } from '../ops.ts'
import { freeVoiceLease, makeVoiceLease, type VoiceLease } from './voice-lease.ts'

const db = await testDatabase()

/** Checks the leases in turn, as several processes would. */
const rounds = async (count: number, ...leases: VoiceLease[]): Promise<string[]> => {
  const notices: string[] = []
  for (let i = 0; i < count; i++) for (const lease of leases) notices.push(await lease.check())
  return notices
}

test('the first process holds the lease while it sends heartbeats, and its release takes effect at once', async () => {
  await freeVoiceLease(db)
  const [a, b] = [makeVoiceLease(db, 'a'), makeVoiceLease(db, 'b')]
  assert.deepEqual(await rounds(1, a, b), ['ours', 'unsure'])
  assert.deepEqual(new Set(await rounds(10, a, b)), new Set(['ours', 'theirs']))
  assert.deepEqual([a.isHeld(), b.isHeld(), b.epoch(), b.holder()], [true, false, null, 'a'])
  const first = a.epoch() ?? 0
  await a.release()
  assert.deepEqual([a.isHeld(), a.epoch()], [false, null])
  assert.deepEqual(await rounds(1, b, a), ['ours', 'unsure'])
  assert.ok(Number(b.epoch()) > first)
})

test('a process silent for six checks loses the lease, and learns of it at its next heartbeat', async () => {
  await freeVoiceLease(db)
  const [a, b] = [makeVoiceLease(db, 'a'), makeVoiceLease(db, 'b')]
  await rounds(1, a, b)
  assert.deepEqual(await rounds(5, b), Array(5).fill('unsure'))
  await a.check()
  assert.deepEqual(await rounds(7, b), ['theirs', ...Array(5).fill('unsure'), 'ours'])
  assert.deepEqual(await rounds(2, a, b), ['unsure', 'ours', 'theirs', 'ours'])
  assert.deepEqual([a.isHeld(), a.epoch()], [false, null])
  // A late release of the old holder does not affect the new one.
  await a.release()
  assert.deepEqual(await rounds(2, b, a), ['ours', 'unsure', 'ours', 'theirs'])
})

test('a heartbeat holds the lease for five seconds from its sending, and the next one for five more', async () => {
  await freeVoiceLease(db)
  let now = 1_000
  const lease = makeVoiceLease(db, 'a', () => now)
  assert.deepEqual([lease.isHeld(), lease.lapsedMs()], [false, 0])
  for (const sent of [1_000, 5_000, 12_000]) {
    now = sent
    assert.equal(await lease.check(), 'ours')
    now = sent + leaseHeldMs
    assert.deepEqual([lease.isHeld(), lease.lapsedMs()], [true, 0], `sent at ${sent}`)
    now++
    assert.deepEqual([lease.isHeld(), lease.lapsedMs()], [false, 1], `sent at ${sent}`)
  }
})

test('an outage of the database ends no epoch: only checks that reach the database count as silence', async () => {
  await freeVoiceLease(db)
  let isAway = false
  const shaky: Db = { ...db, one: (...args) => (isAway ? Promise.reject(new Error('away')) : db.one(...args)) }
  const [a, b] = [makeVoiceLease(db, 'a'), makeVoiceLease(shaky, 'b')]
  await rounds(1, a, b)
  await rounds(5, b)
  isAway = true
  await assert.rejects(b.check(), /away/)
  isAway = false
  // Whichever process reaches the database first.
  assert.deepEqual(await rounds(3, b), Array(3).fill('unsure'))
  assert.deepEqual(await rounds(1, a, b), ['ours', 'theirs'])
})

test('a heartbeat between another process’s read and its takeover prevents the takeover', async () => {
  await freeVoiceLease(db)
  const a = makeVoiceLease(db, 'a')
  await a.check()
  const epoch = a.epoch()
  let isLast = false
  const late: Db = {
    ...db,
    one: async (...args) => {
      const row = await db.one(...args)
      if (isLast) assert.equal(await a.check(), 'ours')
      return row as never // the unchanged row
    },
  }
  const b = makeVoiceLease(late, 'b')
  assert.deepEqual(await rounds(6, b), Array(6).fill('unsure'))
  isLast = true
  assert.equal(await b.check(), 'unsure')
  assert.deepEqual([b.epoch(), b.isHeld()], [null, false])
  assert.equal(await a.check(), 'ours')
  assert.deepEqual([a.epoch(), a.isHeld()], [epoch, true])
  // Without a heartbeat in between, the same silence is enough.
  isLast = false
  assert.deepEqual(await rounds(7, b), ['theirs', ...Array(5).fill('unsure'), 'ours'])
})

test('exactly one of several waiting processes takes over', async () => {
  await freeVoiceLease(db)
  await makeVoiceLease(db, 'gone').check()
  const leases = Array.from({ length: 8 }, (_, i) => makeVoiceLease(db, `waiting ${i}`))
  for (let i = 0; i < 8; i++) await Promise.all(leases.map((lease) => lease.check()))
  assert.equal(leases.filter((lease) => lease.epoch() !== null).length, 1)
})

test('a process that has lost the lease does not retake it in the same check, as its calls are ended first', async () => {
  await freeVoiceLease(db)
  const [a, b] = [makeVoiceLease(db, 'a'), makeVoiceLease(db, 'b')]
  await a.check()
  const first = Number(a.epoch())
  await freeVoiceLease(db)
  await b.check()
  await b.release()
  assert.notEqual(await a.check(), 'ours')
  assert.deepEqual([a.epoch(), a.isHeld()], [null, false])
  assert.deepEqual([await a.check(), a.epoch()], ['ours', first + 2])
})

/** Opens the voice of another process on the same database, whose lease queries can be made to fail. */
const open = async (t: TestContext, changed: Partial<Config> = {}) => {
  let isAway = false
  let under: Promise<unknown> = Promise.resolve()
  const unless = <T>(work: () => Promise<T>): Promise<T> => {
    if (isAway) return Promise.reject(new Error('away'))
    const pending = work()
    under = pending.catch(() => {})
    return pending
  }
  const shaky: TestDatabase = {
    ...db,
    end: async () => {},
    dedicated: (milliseconds) => {
      const line = db.dedicated(milliseconds)
      return {
        ...line,
        one: (...args) => unless(() => line.one(...args)),
        maybe: (...args) => unless(() => line.maybe(...args)),
        run: (...args) => unless(() => line.run(...args)),
      }
    },
  }
  const free = { TRUNKLINE_SIP_PORT: '0', TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  const world = await makeWorld(free, changed, { db: shaky })
  const { voice } = world.parts
  t.after(voice.close)
  await voice.start()
  const comesTo = (state: string) => until(async () => voice.status().state === state, 30)
  /** Switches the outage on or off. Resolves once the query in progress has been answered. */
  const away = async (now: boolean) => {
    isAway = now
    await under
  }
  return { ...world, voice, comesTo, away }
}

test('a process whose requests use all connections still sends heartbeats', async (t) => {
  await freeVoiceLease(db)
  const { voice } = await open(t)
  assert.equal(voice.status().state, 'running')
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  const busy = Array.from({ length: 20 }, () => db.begin(() => gate.promise).catch(() => {}))
  await until(async () => db.load().waiting > 0)
  const other = db.dedicated(10_000)
  t.after(other.end)
  const said = () => other.one<{ fence: number; beats: number }>`select fence, beats from voice_lease`
  const { fence, beats } = await said()
  await until(async () => (await said()).beats > beats + 1, 30)
  assert.equal((await said()).fence, fence)
  gate.resolve()
  await Promise.all(busy)
})

test('a process that cannot open its ports says so, works otherwise, and leaves the calls to others', async (t) => {
  await freeVoiceLease(db)
  const gone = makeVoiceLease(db, 'gone')
  await gone.check()
  const path = join(temporaryFolder(), 'no.pem')
  writeFileSync(path, 'no certificate')
  const { voice } = await open(t, { sipTlsPort: 0, tlsKey: path, tlsCert: path })
  assert.equal(voice.status().state, 'starting')
  await gone.release()
  await voice.decided()
  assert.deepEqual(voice.status(), {
    state: 'hindered',
    reason: 'the ports or the media engine could not be opened; see the log',
  })
  const other = await open(t)
  await other.comesTo('running')
})

test('a process that takes over while the port is in use closes no calls; the port’s owner starts a new epoch', async (t) => {
  await freeVoiceLease(db)
  const first = await open(t)
  const who = await first.tenant()
  const id = uuid()
  const { fence } = await db.one<{ fence: number }>`select fence from voice_lease`
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'I', user_id: null, from_number: '+447700900123' },
      ...{ to_number: '+441632960000', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+447700900123', virtual_number_id: null, toll_free: false, rate: '0', tenure: fence },
    })
    await callAnswered(tx, who.id, id, null)
  })
  const isOpen = async () =>
    (await db.one<{ open: boolean }>`select ended_at is null as open from calls where id = ${id}`).open
  await first.away(true)
  await freeVoiceLease(db)
  const second = await open(t, { sipPort: first.voice.port() })
  assert.match(second.voice.status().reason ?? '', /another program uses the SIP port/)
  assert.equal(await isOpen(), true)
  await first.away(false)
  // The first process closes its old node, takes the free lease, and closes the calls of earlier epochs.
  await until(async () => !(await isOpen()), 30)
  await first.comesTo('running')
  assert.ok((await db.one<{ fence: number }>`select fence from voice_lease`).fence > fence + 1)
})

test('a process without a heartbeat for a minute ends its calls, and starts again if the lease is free', async (t) => {
  await freeVoiceLease(db)
  const { voice, away, comesTo } = await open(t)
  await away(true)
  const now = performance.now.bind(performance)
  const later = t.mock.method(performance, 'now', () => now() + 30_000)
  await comesTo('hindered')
  assert.notEqual(voice.port(), null, 'calls go on')
  later.mock.mockImplementation(() => now() + 70_000)
  await until(async () => voice.port() === null, 30)
  assert.deepEqual(voice.status(), {
    state: 'hindered',
    reason: 'the database was unreachable for too long',
  })
  await away(false)
  await comesTo('running')
  assert.notEqual(voice.port(), null)
})
