import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../test/world.ts'
import { type Berth, openBerth } from '../jobs/berth.ts'
import type { Job } from '../jobs/kind.ts'
import { uuid } from '../lib/id.ts'
import { type Checked, makeAccept } from './accept.ts'
import { submitKind } from './carriers.ts'

const { db, parts, tenant } = await makeWorld()
const { id: account } = await tenant({ balance: '0.14' })

const message = (text: string, changed: Partial<Checked> = {}): Checked => ({
  account,
  id: uuid(),
  channel: uuid(),
  number: '+447700900001',
  contact: '+447700900002',
  text,
  encoding: 'gsm7',
  fragments: 1,
  price: 40_000,
  sendAt: null,
  decision: uuid(),
  long: 'udh8',
  ...changed,
})

test('what may start at once is handed over leased, just as its row says; the rest is left to be claimed', async () => {
  const taken: Job[] = []
  let forsaken = 0
  const berth: Berth = {
    worker: uuid(),
    leaseSeconds: 30,
    caughtUp: () => null,
    reserve: (count) => ({ count: Math.min(count, 2), at: performance.now() }),
    take: (_, jobs) => void taken.push(...jobs),
    forsake: () => void forsaken++,
  }
  const close = openBerth(db, submitKind, berth)
  let woken = 0
  const accept = makeAccept(db, parts.clock, true, () => woken++)
  const later = message('later', { sendAt: new Date(parts.clock.now() + 86_400_000), price: 20_000 })
  const all = [
    later,
    message('one “quoted” \\ text'),
    message('two', { long: 'udh16' }),
    message('three'),
    message('poor'),
  ]
  const results = await Promise.allSettled(all.map((one) => accept.message(one, null)))
  close()
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
  const rows = await db.many<{ id: string; payload: unknown; owner: string | null; fence: number; attempts: number }>`
    select id, payload, owner, fence, attempts from jobs where leased_until > clock_timestamp() order by id`
  assert.deepEqual(
    rows,
    taken.map(({ id, payload }) => ({ id, payload, owner: berth.worker, fence: 1, attempts: 1 })),
  )
  assert.deepEqual(
    taken.map(({ id }) => id),
    all.slice(1, 3).map(({ id }) => id),
  )
  const rest = await db.many<{ id: string }>`select id from jobs where leased_until is null and fence = 0 order by id`
  assert.deepEqual(
    rest.map(({ id }) => id),
    [later.id, all[3]?.id],
  )
  assert.deepEqual([woken, forsaken], [1, 0])
})

test('nothing is leased beside older texts that wait to be claimed', async () => {
  const { id: rich } = await tenant({ balance: '1' })
  const taken: Job[] = []
  const berth: Berth = {
    worker: uuid(),
    leaseSeconds: 30,
    caughtUp: () => null,
    reserve: (count) => ({ count, at: performance.now() }),
    take: (_, jobs) => void taken.push(...jobs),
    forsake: () => assert.fail('it was committed'),
  }
  let woken = 0
  const accept = makeAccept(db, parts.clock, true, () => woken++)
  const older = message('another process has it', { account: rich })
  await accept.message(older, null)
  const close = openBerth(db, submitKind, berth)
  const newer = message('behind it', { account: rich })
  await accept.message(newer, null)
  close()
  assert.deepEqual([taken, woken], [[], 2])
  const owners = await db.many`select owner from jobs where id = any(${[older.id, newer.id]}::uuid[])`
  assert.deepEqual(owners, [{ owner: null }, { owner: null }])
})

test('a place that a refused statement had is given back', async () => {
  let forsaken = 0
  const berth: Berth = {
    worker: uuid(),
    leaseSeconds: 30,
    caughtUp: () => null,
    reserve: (count) => ({ count, at: performance.now() }),
    take: () => assert.fail('nothing was committed'),
    forsake: ({ count }, isDoubtful) => void assert.deepEqual([++forsaken, count, isDoubtful], [1, 1, false]),
  }
  const close = openBerth(db, submitKind, berth)
  const accept = makeAccept(db, parts.clock, true, () => {})
  await assert.rejects(accept.message(message('never', { id: 'not a uuid' }), null))
  close()
  assert.equal(forsaken, 1)
})
