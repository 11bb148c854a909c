import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabase } from '../../../../test/database.ts'
import { until } from '../../../../test/platform.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { linkResponseSeconds } from '../limits.ts'
import { passJob } from './carrier-lease-store.ts'
import type { CarrierLeases } from './carrier-leases.ts'
import { slotOf } from './message-slots.ts'
import { makeSharedLeases } from './shared-leases.ts'

// Workers of one database, in one process. test/chaos/carrier-leases.test.ts has processes, carriers and kills.

const db = await testDatabase()
const log = { warn: () => {}, error: (error: unknown) => assert.fail(JSON.stringify(error)) }

type TestWorker = {
  readonly leases: CarrierLeases
  /** Kinds of the jobs of slots that it runs. */
  readonly kinds: Set<string>
  /** Milliseconds that the jobs of each ended slot had for their ends. */
  readonly deadlines: number[]
  /** Ids of the messages that it expects. */
  readonly expected: string[]
  /** Whether it reaches the carrier. */
  isUp: boolean
  /** Sets the connection with that number of slots; renews. */
  update(slots: number): Promise<void>
}

/** A worker that has not learned of a connection. */
const startWorker = async (
  connection: string,
  options: { readonly seconds?: number; readonly unreachableMs?: number } = {},
): Promise<TestWorker> => {
  const kinds = new Set<string>()
  const expected: string[] = []
  const deadlines: number[] = []
  const update = (slots: number) => leases.update(slots === 0 ? [] : [{ id: connection, slots }])
  const leases = makeSharedLeases({
    ...{ db, log, wakeUps: { on: () => () => {}, publish: () => {} } },
    ...options,
  })
  const worker: TestWorker = { leases, kinds, deadlines, expected, isUp: true, update }
  leases.setRunner({
    expect: (_, id) => expected.push(id),
    recheck: () => {},
    jobKindOf: (kind) => ({ kind, concurrency: 1, leaseSeconds: 10, maxAttempts: 1 }),
  })
  leases.start({ isUp: () => worker.isUp, apply: async () => {} })
  await leases.setWorker({
    add: ({ kind }) => {
      kinds.add(kind)
      return async (deadline) => {
        kinds.delete(kind)
        deadlines.push(deadline)
      }
    },
  })
  after(() => leases.close(async () => {}))
  return worker
}

/** Ends a world of workers before the next test: they share the lease of the queue. */
const withWorkers =
  (
    count: number,
    run: (connection: string, workers: TestWorker[]) => Promise<void>,
    options: { readonly seconds?: number; readonly unreachableMs?: number } = {},
  ) =>
  async () => {
    const connection = uuid()
    const workers = await Promise.all(Array.from({ length: count }, () => startWorker(connection, options)))
    try {
      await run(connection, workers)
    } finally {
      for (const { update } of workers) await update(0)
      await db.run`delete from carrier_leases`
      await db.run`delete from jobs`
    }
  }

const pairs = Array.from({ length: 20 }, (_, i) => `+447700100000+4479111234${10 + i}`)
const second = pairs.find((pair) => slotOf(pair, 2) === 1) ?? ''

test(
  'one worker has a whole connection and reads the queue; of two, each has half of the slots, and every pair one of them',
  withWorkers(2, async (connection, [a, b]) => {
    assert.ok(a && b)
    await a.update(2)
    assert.deepEqual(a.leases.shareOf(connection), { held: 2, of: 2 })
    assert.ok(pairs.every((pair) => a.leases.placeOf(connection, pair) === 'here'))
    await b.update(2)
    await a.update(2)
    await until(async () => {
      await b.update(2)
      return b.leases.shareOf(connection).held === 1
    })
    assert.deepEqual(a.leases.shareOf(connection), { held: 1, of: 2 })
    assert.deepEqual([a.leases.readsQueue(), b.leases.readsQueue()], [true, false])
    const kind = `sms.submit:${connection}:1`
    assert.deepEqual([[...a.kinds], [...b.kinds]], [[], [kind]])
    await a.update(2)
    for (const pair of pairs) {
      const isFirst = slotOf(pair, 2) === 0
      const holder: TestWorker = isFirst ? a : b
      const other: TestWorker = isFirst ? b : a
      assert.equal(holder.leases.placeOf(connection, pair), 'here')
      assert.deepEqual(other.leases.placeOf(connection, pair), { kind: isFirst ? 'sms.submit' : kind })
      assert.equal(other.leases.enter(connection, pair), null)
    }
  }),
)

test(
  'a worker gives up a slot only once its submits have ended',
  withWorkers(2, async (connection, [a, b]) => {
    assert.ok(a && b)
    await a.update(2)
    const end = a.leases.enter(connection, second)
    assert.ok(end)
    await b.update(2)
    await a.update(2)
    assert.equal(a.leases.enter(connection, second), null, 'no further submit begins')
    await b.update(2)
    assert.equal(b.leases.shareOf(connection).held, 0)
    end()
    await until(async () => {
      await b.update(2)
      return b.leases.shareOf(connection).held === 1
    })
  }),
)

test(
  'when the leases of a worker run out, another returns its jobs to their places, and learns which messages wait',
  withWorkers(2, async (connection, [a, b]) => {
    assert.ok(a && b)
    await a.update(1)
    await b.update(1)
    assert.equal(b.leases.readsQueue(), false)
    const [claimed, batch, waiting] = [uuid(), uuid(), uuid()]
    // Messages of a paused sending hold back no other, nor those that are held until somebody acts.
    const others = { paused: uuid(), held: uuid() }
    const payload = { from: '+447700100000', to: '+447911123456', text: 'x' }
    await db.run`
      insert into jobs (id, kind, payload, run_at, leased_until, owner, last_error)
      select j.id, j.kind, ${payload}::jsonb, now() - interval '1 minute',
        case when j.owned then now() + interval '30 seconds' end, case when j.owned then ${a.leases.owner}::uuid end, j.error
      from (values (${claimed}::uuid, 'sms.submit', true, null), (${batch}::uuid, 'sms.batch', true, null),
        (${waiting}::uuid, 'sms.submit', false, 'no carrier')) j (id, kind, owned, error)`
    await db.run`
      insert into jobs (id, kind, payload, run_at, last_error, waits_for) values
        (${others.paused}, 'sms.submit', ${payload}::jsonb, now(), 'the sending is paused', 'sending x'),
        (${others.held}, 'sms.submit', ${payload}::jsonb, '9999-01-01', 'the sending is paused', null)`
    await db.run`update carrier_leases set leased_until = clock_timestamp()`
    await b.update(1)
    assert.deepEqual([b.leases.readsQueue(), b.leases.shareOf(connection).held], [true, 1])
    assert.ok(b.leases.hadOtherOwner(connection))
    const rows = await db.many`
      select from jobs where leased_until is null and owner is null and run_at < now() - interval '50 seconds'`
    assert.equal(rows.length, 3)
    assert.deepEqual(new Set(b.expected), new Set([claimed, waiting]))
    await a.update(1)
    assert.deepEqual([a.leases.readsQueue(), a.leases.shareOf(connection).held], [false, 0])
  }),
)

test('a worker that cannot renew its leases stops before another may take them', async () => {
  const connection = uuid()
  const worker = await startWorker(connection, { seconds: 3 })
  await worker.update(1)
  assert.ok(worker.leases.enter(connection, second))
  await until(async () => !worker.leases.isCurrent())
  assert.equal(worker.leases.enter(connection, second), null)
  assert.deepEqual([worker.leases.readsQueue(), worker.leases.placeOf(connection, second)], [false, 'nowhere'])
  const { held } = await db.one<{ held: boolean }>`
    select bool_and(leased_until > clock_timestamp()) as held from carrier_leases where owner = ${worker.leases.owner}`
  assert.ok(held)
  await worker.update(0)
  await db.run`delete from carrier_leases`
})

test(
  'a worker without connections leases nothing, and one that loses its last connection releases everything',
  withWorkers(1, async (_, [worker]) => {
    assert.ok(worker)
    const valid = () => db.many`select from carrier_leases where leased_until > clock_timestamp()`
    await worker.update(0)
    assert.equal((await valid()).length, 0)
    await worker.update(2)
    assert.equal((await valid()).length, 4)
    await worker.update(0)
    assert.equal((await valid()).length, 0)
  }),
)

test(
  'messages that were passed on for a slot that no longer exists return to the queue, and those under way are stored',
  withWorkers(1, async (connection, [worker]) => {
    assert.ok(worker)
    const kinds = ['sms.submit', `sms.submit:${connection}:1`, `sms.submit:${uuid()}:1`]
    await worker.update(2)
    for (const kind of kinds) await db.run`insert into jobs (id, kind) values (${uuid()}, ${kind})`
    await worker.update(1)
    const rows = await db.many<{ kind: string }>`select distinct kind from jobs`
    assert.deepEqual(rows, [{ kind: 'sms.submit' }])
    const [deadline = 0] = worker.deadlines
    assert.ok(deadline > linkResponseSeconds * 1_000, 'a carrier may still answer')
  }),
)

test(
  'after an outage each worker first takes back what it had, and leaves what others had to them for a while',
  withWorkers(
    2,
    async (connection, [a, b]) => {
      assert.ok(a && b)
      await a.update(2)
      await until(async () => {
        await b.update(2)
        await a.update(2)
        return b.leases.shareOf(connection).held === 1
      })
      const ofA = uuid()
      await db.run`
        insert into jobs (id, kind, leased_until, owner)
        values (${ofA}, 'sms.submit', now() + interval '30 seconds', ${a.leases.owner})`
      await until(async () => !a.leases.isCurrent() && !b.leases.isCurrent())
      await db.run`update carrier_leases set leased_until = clock_timestamp()`
      // The worker that is back first may look twice before the other does.
      await b.update(2)
      await b.update(2)
      assert.deepEqual([b.leases.readsQueue(), b.leases.shareOf(connection)], [false, { held: 1, of: 2 }])
      await a.update(2)
      assert.deepEqual([a.leases.readsQueue(), a.leases.shareOf(connection)], [true, { held: 1, of: 2 }])
      assert.ok(
        await db.maybe`select from jobs where id = ${ofA} and owner = ${a.leases.owner}`,
        'its messages are its own',
      )
    },
    { seconds: 3 },
  ),
)

test('a message that was deferred before it is passed on comes before a later one of its pair', async () => {
  const [first, later, kind] = [uuid(), uuid(), `sms.submit:${uuid()}:0`]
  await db.run`
    insert into jobs (id, kind, run_at, created_at, leased_until, fence)
    select g.id, 'sms.submit', now() - make_interval(secs => g.due), now() - make_interval(secs => g.accepted), now(), 1
    from (values (${first}::uuid, 1, 60), (${later}::uuid, 50, 50)) g (id, due, accepted)`
  for (const id of [first, later]) await passJob(db, { id, fence: 1, kind, tried: [] })
  const rows = await db.many`select id from jobs where kind = ${kind} order by run_at, id`
  assert.deepEqual(rows, [{ id: first }, { id: later }])
  await db.run`delete from jobs`
})

const givenUpAgo = (seconds: number) => db.run`
  update carrier_leases set given_up_at = given_up_at - make_interval(secs => ${seconds}),
    previous_until = previous_until - make_interval(secs => ${seconds}) where given_up_at is not null`

test(
  'a worker without a link gives a connection up to another one, and messages are passed on to that; not to and fro',
  withWorkers(
    2,
    async (connection, [a, b]) => {
      assert.ok(a && b)
      const kind = `sms.submit:${connection}:0`
      a.isUp = false
      b.isUp = false
      await a.update(1)
      await b.update(1)
      // The first look finds the link down; the next one gives it up, as another worker is there.
      await until(async () => {
        await a.update(1)
        await b.update(1)
        return b.leases.shareOf(connection).held === 1
      })
      assert.deepEqual(
        [a.leases.readsQueue(), a.leases.shareOf(connection).held, b.leases.readsQueue()],
        [true, 0, false],
      )
      assert.deepEqual([[...a.kinds], [...b.kinds]], [[], [kind]])
      assert.equal(a.leases.enter(connection, second), null)
      assert.equal(a.leases.placeOf(connection, second), 'nowhere', 'its link is down as well')
      b.isUp = true
      await b.update(1)
      await a.update(1)
      assert.deepEqual(a.leases.placeOf(connection, second), { kind })
      assert.ok(a.leases.hasOthersUp() && a.leases.isUpElsewhere(connection, second))
      const end = b.leases.enter(connection, second) ?? assert.fail()
      end()

      // Both are down: no sooner than a minute after it changed hands.
      b.isUp = false
      for (let looks = 0; looks < 3; looks++) await b.update(1)
      assert.equal(b.leases.shareOf(connection).held, 1)
      await givenUpAgo(61)
      const passed = uuid()
      await db.run`insert into jobs (id, kind) values (${passed}, ${kind})`
      await until(async () => {
        await b.update(1)
        await a.update(1)
        return a.leases.shareOf(connection).held === 1
      })
      assert.deepEqual([[...a.kinds], [...b.kinds], b.leases.shareOf(connection).held], [[], [], 0])
      // What was passed on is in the queue again, which its reader knows.
      assert.ok(await db.maybe`select from jobs where id = ${passed} and kind = 'sms.submit'`)
      assert.ok(a.expected.includes(passed))
    },
    { unreachableMs: 0 },
  ),
)

test(
  'a worker without a link keeps its slots while no other reaches the carrier either',
  withWorkers(
    2,
    async (connection, [a, b]) => {
      assert.ok(a && b)
      const held = () => [a, b].map(({ leases }) => leases.shareOf(connection).held)
      await until(async () => {
        await a.update(2)
        await b.update(2)
        return held().every((count) => count === 1)
      })
      a.isUp = false
      b.isUp = false
      await db.run`update carrier_leases set is_up = false`
      for (const one of [b, a, b, a, b]) await one.update(2)
      assert.deepEqual(held(), [1, 1])
      b.isUp = true
      await until(async () => {
        await b.update(2)
        await a.update(2)
        return b.leases.shareOf(connection).held === 2
      })
      assert.equal(a.leases.shareOf(connection).held, 0)
      // The substitute keeps what it took: the other would have to give it up again.
      for (const one of [a, b, a, b]) await one.update(2)
      assert.deepEqual(held(), [0, 2])
    },
    { unreachableMs: 0 },
  ),
)
