import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../test/world.ts'
import { type LocalQueue, registerLocalQueue } from '../../../platform/jobs/consume/local-queue.ts'
import type { Job } from '../../../platform/jobs/job-kind.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { submitKind } from '../submit/carriers.ts'
import { makeMessageAcceptor, type ValidatedMessage } from './message-acceptor.ts'

const { db, parts, tenant } = await makeWorld()
const { id: account } = await tenant({ balance: '0.14' })

const message = (text: string, changed: Partial<ValidatedMessage> = {}): ValidatedMessage => ({
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

test('messages due at once are handed over leased, exactly as stored; the rest wait for a claim', async () => {
  const taken: Job[] = []
  let forsaken = 0
  const berth: LocalQueue = {
    worker: uuid(),
    leaseSeconds: 30,
    whenCaughtUp: () => null,
    reserve: (count) => ({ count: Math.min(count, 2), at: performance.now() }),
    commit: (_, jobs) => void taken.push(...jobs),
    cancel: () => void forsaken++,
  }
  const close = registerLocalQueue(db, submitKind, berth)
  let woken = 0
  const accept = makeMessageAcceptor(db, parts.clock, true, () => woken++)
  const later = message('later', { sendAt: new Date(parts.clock.now() + 86_400_000), price: 20_000 })
  const all = [
    later,
    message('one “quoted” \\ text'),
    message('two', { long: 'udh16' }),
    message('three'),
    message('poor'),
  ]
  const results = await Promise.allSettled(all.map((one) => accept.accept(one, null)))
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

test('no message is leased while older messages wait for a claim', async () => {
  const { id: rich } = await tenant({ balance: '1' })
  const taken: Job[] = []
  const berth: LocalQueue = {
    worker: uuid(),
    leaseSeconds: 30,
    whenCaughtUp: () => null,
    reserve: (count) => ({ count, at: performance.now() }),
    commit: (_, jobs) => void taken.push(...jobs),
    cancel: () => assert.fail('the message was committed'),
  }
  let woken = 0
  const accept = makeMessageAcceptor(db, parts.clock, true, () => woken++)
  const older = message('another process has it', { account: rich })
  await accept.accept(older, null)
  const close = registerLocalQueue(db, submitKind, berth)
  const newer = message('behind it', { account: rich })
  await accept.accept(newer, null)
  close()
  assert.deepEqual([taken, woken], [[], 2])
  const owners = await db.many`select owner from jobs where id = any(${[older.id, newer.id]}::uuid[])`
  assert.deepEqual(owners, [{ owner: null }, { owner: null }])
})

test('a slot reserved for a failed statement is released', async () => {
  let forsaken = 0
  const berth: LocalQueue = {
    worker: uuid(),
    leaseSeconds: 30,
    whenCaughtUp: () => null,
    reserve: (count) => ({ count, at: performance.now() }),
    commit: () => assert.fail('nothing was committed'),
    cancel: ({ count }, isDoubtful) => void assert.deepEqual([++forsaken, count, isDoubtful], [1, 1, false]),
  }
  const close = registerLocalQueue(db, submitKind, berth)
  const accept = makeMessageAcceptor(db, parts.clock, true, () => {})
  await assert.rejects(accept.accept(message('never', { id: 'not a uuid' }), null))
  close()
  assert.equal(forsaken, 1)
})
