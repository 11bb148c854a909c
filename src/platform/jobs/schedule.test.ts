import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { errorLog, silentLog, startTestWorker, until } from './job-testing.ts'
import { nextTime, runDue, type Schedule } from './schedule.ts'

const at = (text: string) => Date.parse(text)
const next = (every: Schedule['every'], from: string) => new Date(nextTime(every, at(from))).toISOString()

test('the next time is the first time of the schedule after now', () => {
  assert.equal(next(60, '2026-11-21T06:20:00Z'), '2026-11-21T06:21:00.000Z')
  assert.equal(next(60, '2026-11-21T06:20:59.999Z'), '2026-11-21T06:21:00.000Z')
  assert.equal(next('03:30', '2026-11-21T03:29:59Z'), '2026-11-21T03:30:00.000Z')
  assert.equal(next('03:30', '2026-11-21T03:30:00Z'), '2026-11-22T03:30:00.000Z')
  assert.equal(next('23:59', '2026-12-31T23:59:30Z'), '2027-01-01T23:59:00.000Z')
})

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
    await db.raw('create table ran (name text, at timestamptz)')
  })
  const schedule = (name: string, every: Schedule['every']): Schedule => ({
    name,
    every,
    run: async (tx, now) => {
      await tx.run`insert into ran values (${name}, ${now})`
    },
  })
  const times = async (name: string) =>
    (await db.one<{ n: number }>`select count(*) as n from ran where name = ${name}`).n

  test('one of many workers runs each turn of a schedule, once', async () => {
    const hourly = schedule('hourly', 3600)
    const workers = [1, 2, 3, 4].map(() => startTestWorker({ db, kinds: [], schedules: [hourly], log: errorLog }))
    for (let turn = 1; turn <= 3; turn++) {
      await until('the turn comes', async () => (await times('hourly')) >= turn)
      await db.run`update clock set offset_seconds = offset_seconds + 3600`
    }
    await until('the last turn comes', async () => (await times('hourly')) >= 4)
    await Promise.all([1, 2, 3, 4].map(() => runDue(db, [hourly], errorLog)))
    await Promise.all(workers.map((worker) => worker.stop()))
    assert.equal(await times('hourly'), 4)
  })

  test('workers that find a schedule due at the same moment run it once', async () => {
    const rare = schedule('rare', 86_400)
    await Promise.all(Array.from({ length: 8 }, () => runDue(db, [rare], errorLog)))
    await runDue(db, [rare], errorLog)
    assert.equal(await times('rare'), 1)
  })

  test('after an outage or a clock change, a schedule runs once and not for each missed time', async () => {
    const often = schedule('often', 10)
    await runDue(db, [often], errorLog)
    await db.run`update clock set offset_seconds = offset_seconds + 86400`
    await runDue(db, [often], errorLog)
    await runDue(db, [often], errorLog)
    assert.equal(await times('often'), 2)
  })

  test('a daily schedule waits for its time of day', async () => {
    await db.run`update clock set offset_seconds = 0`
    const soon = new Date(Date.now() + 2 * 60_000).toISOString()
    const daily = schedule('daily', `${Number(soon.slice(11, 13))}:${Number(soon.slice(14, 16))}`)
    assert.equal(typeof daily.every, 'string')
    await runDue(db, [daily], errorLog)
    assert.equal(await times('daily'), 0)
    await db.run`update clock set offset_seconds = offset_seconds + 121`
    await runDue(db, [daily], errorLog)
    assert.equal(await times('daily'), 1)
  })

  test('a failed run is rolled back and retried after half a minute', async () => {
    let runs = 0
    const shaky: Schedule = {
      name: 'shaky',
      every: 3600,
      run: async (tx, now) => {
        await tx.run`insert into ran values ('shaky', ${now})`
        if (++runs === 1) throw new Error('no luck')
      },
    }
    await runDue(db, [shaky], silentLog)
    await runDue(db, [shaky], silentLog)
    assert.equal(runs, 1)
    assert.equal(await times('shaky'), 0)
    await db.run`update clock set offset_seconds = offset_seconds + 31`
    await runDue(db, [shaky], silentLog)
    assert.equal(await times('shaky'), 1)
  })
})
