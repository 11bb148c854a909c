import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/database.ts'
import { until } from '../../test/platform.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { makeWorld } from '../../test/world.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { freeVoice, type Lease, makeLease } from './lease.ts'
import { beginCall, callAnswered } from './ops.ts'

const db = await testDatabase()

/** One after the other, as two processes would look. */
const rounds = async (count: number, ...leases: Lease[]): Promise<string[]> => {
  const told: string[] = []
  for (let i = 0; i < count; i++) for (const lease of leases) told.push(await lease.look())
  return told
}

test('one at a time: who looks first has it for as long as it says so, and hands it over at once when it ends', async () => {
  await freeVoice(db)
  const [a, b] = [makeLease(db, 'a'), makeLease(db, 'b')]
  assert.deepEqual(await rounds(1, a, b), ['ours', 'unsure'])
  assert.deepEqual(new Set(await rounds(10, a, b)), new Set(['ours', 'theirs']))
  assert.deepEqual([a.isHeld(), b.isHeld(), b.tenure(), b.holder()], [true, false, null, 'a'])
  const first = a.tenure() ?? 0
  await a.release()
  assert.deepEqual([a.isHeld(), a.tenure()], [false, null])
  assert.deepEqual(await rounds(1, b, a), ['ours', 'unsure'])
  assert.ok(Number(b.tenure()) > first)
})

test('who says nothing for six looks of another is taken over from, and learns of it at its next word', async () => {
  await freeVoice(db)
  const [a, b] = [makeLease(db, 'a'), makeLease(db, 'b')]
  await rounds(1, a, b)
  assert.deepEqual(await rounds(5, b), Array(5).fill('unsure'))
  await a.look()
  assert.deepEqual(await rounds(7, b), ['theirs', ...Array(5).fill('unsure'), 'ours'])
  assert.deepEqual(await rounds(2, a, b), ['unsure', 'ours', 'theirs', 'ours'])
  assert.deepEqual([a.isHeld(), a.tenure()], [false, null])
  // What it says of an end of its tenure is said of nobody else's.
  await a.release()
  assert.deepEqual(await rounds(2, b, a), ['ours', 'unsure', 'ours', 'theirs'])
})

test('an outage of the database ends no tenure: silence counts while others could be heard', async () => {
  await freeVoice(db)
  let isAway = false
  const shaky: Db = { ...db, one: (...asked) => (isAway ? Promise.reject(new Error('away')) : db.one(...asked)) }
  const [a, b] = [makeLease(db, 'a'), makeLease(shaky, 'b')]
  await rounds(1, a, b)
  await rounds(5, b)
  isAway = true
  await assert.rejects(b.look(), /away/)
  isAway = false
  // Whoever reaches it first.
  assert.deepEqual(await rounds(3, b), Array(3).fill('unsure'))
  assert.deepEqual(await rounds(1, a, b), ['ours', 'theirs'])
})

test('of several that miss the same one, one takes over', async () => {
  await freeVoice(db)
  await makeLease(db, 'gone').look()
  const leases = Array.from({ length: 8 }, (_, i) => makeLease(db, `waiting ${i}`))
  for (let i = 0; i < 8; i++) await Promise.all(leases.map((lease) => lease.look()))
  assert.equal(leases.filter((lease) => lease.tenure() !== null).length, 1)
})

test('who has lost it does not take it in the same look, free as it may be: its calls are ended first', async () => {
  await freeVoice(db)
  const [a, b] = [makeLease(db, 'a'), makeLease(db, 'b')]
  await a.look()
  const first = Number(a.tenure())
  await freeVoice(db)
  await b.look()
  await b.release()
  assert.notEqual(await a.look(), 'ours')
  assert.deepEqual([a.tenure(), a.isHeld()], [null, false])
  assert.deepEqual([await a.look(), a.tenure()], ['ours', first + 2])
})

/** The voice of a process over the same database, whose word on who runs the calls may fail to get through. */
const open = async (t: TestContext, changed: Partial<Config> = {}) => {
  let isAway = false
  let under: Promise<unknown> = Promise.resolve()
  const unless = <T>(work: () => Promise<T>): Promise<T> => {
    if (isAway) return Promise.reject(new Error('away'))
    const asked = work()
    under = asked.catch(() => {})
    return asked
  }
  const shaky: TestDatabase = {
    ...db,
    end: async () => {},
    apart: (milliseconds) => {
      const line = db.apart(milliseconds)
      return {
        ...line,
        one: (...asked) => unless(() => line.one(...asked)),
        maybe: (...asked) => unless(() => line.maybe(...asked)),
        run: (...asked) => unless(() => line.run(...asked)),
      }
    },
  }
  const free = { TRUNKLINE_SIP_PORT: '0', TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  const world = await makeWorld(free, changed, { db: shaky })
  const { voice } = world.parts
  t.after(voice.close)
  await voice.start()
  const comesTo = (state: string) => until(async () => voice.standing().state === state, 30)
  /** Once what is under way has been answered. */
  const away = async (now: boolean) => {
    isAway = now
    await under
  }
  return { ...world, voice, comesTo, away }
}

test('a process whose requests have all connections goes on saying that it runs the calls', async (t) => {
  await freeVoice(db)
  const { voice } = await open(t)
  assert.equal(voice.standing().state, 'running')
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  const busy = Array.from({ length: 20 }, () => db.begin(() => gate.promise).catch(() => {}))
  await until(async () => db.load().waiting > 0)
  const other = db.apart(10_000)
  t.after(other.end)
  const said = () => other.one<{ fence: number; beats: number }>`select fence, beats from voice_lease`
  const { fence, beats } = await said()
  await until(async () => (await said()).beats > beats + 1, 30)
  assert.equal((await said()).fence, fence)
  gate.resolve()
  await Promise.all(busy)
})

test('one that cannot open its ports says so, whatever the reason, is ready for all else, and leaves the calls to others', async (t) => {
  await freeVoice(db)
  const gone = makeLease(db, 'gone')
  await gone.look()
  const path = join(temporaryFolder(), 'no.pem')
  writeFileSync(path, 'no certificate')
  const { voice } = await open(t, { sipTlsPort: 0, tlsKey: path, tlsCert: path })
  assert.equal(voice.standing().state, 'starting')
  await gone.release()
  await voice.known()
  assert.deepEqual(voice.standing(), {
    state: 'hindered',
    reason: 'its ports or its audio could not be opened: its log says why',
  })
  const other = await open(t)
  await other.comesTo('running')
})

test('one that takes over while the port is taken closes no calls; the one that has it begins a tenure of its own', async (t) => {
  await freeVoice(db)
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
  await freeVoice(db)
  const second = await open(t, { sipPort: first.voice.port() })
  assert.match(second.voice.standing().reason ?? '', /another program has the port of SIP/)
  assert.equal(await isOpen(), true)
  await first.away(false)
  // Its old office is closed; then it takes what nobody has, and ends what tenures before have left.
  await until(async () => !(await isOpen()), 30)
  await first.comesTo('running')
  assert.ok((await db.one<{ fence: number }>`select fence from voice_lease`).fence > fence + 1)
})

test('one that cannot say for a minute that it runs the calls ends them, and begins anew when nobody else has them', async (t) => {
  await freeVoice(db)
  const { voice, away, comesTo } = await open(t)
  await away(true)
  const now = performance.now.bind(performance)
  const later = t.mock.method(performance, 'now', () => now() + 30_000)
  await comesTo('hindered')
  assert.notEqual(voice.port(), null, 'calls go on')
  later.mock.mockImplementation(() => now() + 70_000)
  await until(async () => voice.port() === null, 30)
  assert.deepEqual(voice.standing(), {
    state: 'hindered',
    reason: 'the database could not be reached for a while',
  })
  await away(false)
  await comesTo('running')
  assert.notEqual(voice.port(), null)
})
