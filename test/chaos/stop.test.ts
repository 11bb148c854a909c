import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { renew } from '../../src/domains/numbers/lifecycle/renewal.ts'
import { openShop } from '../../src/domains/numbers/testing.ts'
import { makeSeal } from '../../src/platform/lib/secret.ts'
import { runChild } from '../child.ts'
import { longForm } from '../needs.ts'
import type { Order } from './stop.ts'

// A process is killed at every statement of an operation on a number. Each time the number must be wholly in the state
// before or after, and a repeated request must complete the operation once.
// The short form covers a purchase. At three of four statements it breaks the connections instead of killing the
// process, which is the same for PostgreSQL. `npm run chaos` covers every operation with kills only.

let shop: Awaited<ReturnType<typeof openShop>>
before(async () => {
  shop = await openShop(makeSeal(Buffer.alloc(32, 1)))
})
after(() => shop.close())

type Customer = Awaited<ReturnType<typeof shop.customer>>
type Subject = { ada: Customer; group: string; number: string }

/** Everything that belongs to a number of an account. */
const stateOf = ({ ada, group, number }: Subject) => shop.db.one<{ [part: string]: number | string | boolean | null }>`
  select n.state, s.free::integer,
    (select count(*)::integer from transfers where account_id = ${ada.id} and kind = 'number_purchase'
      and reference = ${number}) as purchases,
    (select count(*)::integer from transfers where account_id = ${ada.id} and kind = 'number_month'
      and reference = ${number}) as months,
    (select balance::float8 from balances where account_id = ${ada.id}) as balance,
    (select string_agg(status_text, ',') from virtual_numbers where account_id = ${ada.id} and number = ${number}) as status,
    (select count(*)::integer from sms_channels where account_id = ${ada.id} and phone_number = ${number} and enabled)
      as channels,
    (select count(*)::integer from caller_ids where account_id = ${ada.id} and phone_number = ${number}
      and removed_at is null) as caller_ids,
    (select string_agg(name, ',' order by id) from events where account_id = ${ada.id} and name like 'number.%') as events,
    (select string_agg(state, ',') from reservations where account_id = ${ada.id} and number = ${number}) as reservations,
    (select string_agg(kind, ',' order by id) from jobs where account_id = ${ada.id} or payload ->> 'number' = ${number})
      as jobs,
    (select expires_at > app_now() from virtual_numbers where account_id = ${ada.id} and number = ${number}) as is_paid
  from numbers n join number_stock s on s.group_id = n.group_id where n.number = ${number} and n.group_id = ${group}`

let subjects = 0
const subject = async (): Promise<Subject> => {
  const group = `stop-${subjects++}`
  const [number = ''] = await shop.group(group, 1)
  return { ada: await shop.customer('10'), group, number }
}

const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const howAt = (at: number): Order['how'] => (isLong || at % 4 === 2 ? 'kill' : 'cut')

type Result = { status: number; count: number } | null

/** Runs operations in other processes. A process takes the next order unless it was killed. */
const makeRunner = () => {
  let child: ReturnType<typeof runChild> | null = null
  return {
    /** @returns the answer of the operation if it got that far */
    attempt: async (order: Order): Promise<Result> => {
      child ??= runChild(`import ${JSON.stringify(import.meta.resolve('./stop.ts'))}`)
      const { writeLine, readLine, exited } = child
      writeLine(JSON.stringify(order))
      try {
        return JSON.parse(await readLine()) as Result // written by stop.ts
      } catch (error) {
        assert.deepEqual([order.how, await exited], ['kill', 'SIGKILL'], String(error))
        child = null
        return null
      }
    },
    end: async () => {
      await child?.kill('SIGKILL')
    },
  }
}

type Case = {
  /** Brings the number into its initial state. */
  ready?: (one: Subject) => Promise<unknown>
  work: (one: Subject) => Promise<Order['work']> | Order['work']
  /** The expected state afterwards. */
  makes: { [part: string]: number | string | boolean }
  /** Repeats the operation. @returns whether it ended as expected for the state found before */
  again: (one: Subject, work: Order['work']) => Promise<unknown>
}

const headersOf = ({ ada }: Subject) => ({ 'x-user-api-key': ada.key, 'idempotency-key': 'once' })

const repeat = async ({ ada }: Subject, work: Order['work']): Promise<number> => {
  assert.ok('method' in work)
  return (await ada.call(work.method, work.path, work.body ?? undefined, work.headers)).status
}

/** Kills the process at each statement until none is left. @returns the number of statements */
const stopEverywhere = async ({ ready, work, makes, again }: Case, when: Order['when']): Promise<number> => {
  const { url } = shop.db
  const runners = [makeRunner(), makeRunner()]
  /** The reference result, from a run without a kill. */
  const model = await subject()
  await ready?.(model)
  const nothing = await stateOf(model)
  const all = await runners[0]?.attempt({ url, at: 0, when, how: 'cut', work: await work(model) })
  assert.ok(all && all.status < 300, JSON.stringify(all))
  const whole = await stateOf(model)
  assert.partialDeepStrictEqual(whole, makes)
  assert.notDeepEqual(whole, nothing)

  let last = 0
  let next = 1
  let ends = 0
  const stops = async ({ attempt }: ReturnType<typeof makeRunner>) => {
    while (ends === 0) {
      const at = next++
      const one = await subject()
      await ready?.(one)
      assert.deepEqual(await stateOf(one), nothing)
      const order = await work(one)
      const answer = await attempt({ url, at, when, how: howAt(at), work: order })
      const found = await stateOf(one)
      if (answer) {
        ends++
        assert.deepEqual(found, whole)
        continue
      }
      last = Math.max(last, at)
      const isWhole = JSON.stringify(found) === JSON.stringify(whole)
      if (!isWhole) assert.deepEqual(found, nothing, `${when} statement ${at}`)
      await again(one, order)
      assert.deepEqual(await stateOf(one), whole, `${when} statement ${at}, and again`)
    }
  }
  await Promise.all(runners.map(stops)).finally(() => Promise.all(runners.map(({ end }) => end())))
  return last
}

/** The only number of a group after its purchase, for 1 and 1.5 of the 10 dollars. */
const bought = {
  state: 'owned',
  free: 0,
  purchases: 1,
  balance: 7.5,
  status: 'ACTIVE',
  channels: 1,
  caller_ids: 1,
  events: 'number.purchased',
}

const cases: Record<string, Case> = {
  purchase: {
    work: (one) => ({
      method: 'POST',
      path: '/open/numbers/purchase',
      body: { group_id: one.group },
      headers: headersOf(one),
    }),
    makes: { ...bought, jobs: 'numbers.renew' },
    again: async (one, work) => assert.equal(await repeat(one, work), 201),
  },
  reservation: {
    work: (one) => ({
      method: 'POST',
      path: '/open/numbers/reservations',
      body: { group_id: one.group },
      headers: headersOf(one),
    }),
    makes: { state: 'held', free: 0, reservations: 'active', jobs: 'numbers.expire', balance: 10 },
    again: async (one, work) => assert.equal(await repeat(one, work), 201),
  },
  'purchase of a reserved number': {
    ready: async ({ ada, group }) => ada.call('POST', '/open/numbers/reservations', { group_id: group }),
    work: (one) => ({ method: 'POST', path: '/open/numbers/purchase', body: {}, headers: headersOf(one) }),
    makes: { ...bought, reservations: 'purchased' },
    again: async (one, work) => assert.equal(await repeat(one, work), 201),
  },
  cancellation: {
    ready: async ({ ada, group }) => ada.call('POST', '/open/numbers/reservations', { group_id: group }),
    work: async (one) => {
      const { id } = await shop.db.one<{ id: string }>`select id from reservations where account_id = ${one.ada.id}`
      return { method: 'DELETE', path: `/open/numbers/reservations/${id}`, body: null, headers: headersOf(one) }
    },
    makes: { state: 'free', free: 1, reservations: 'cancelled' },
    again: async (one, work) => assert.ok([200, 409].includes(await repeat(one, work))),
  },
  release: {
    ready: async ({ ada, group }) => ada.call('POST', '/open/numbers/purchase', { group_id: group }),
    work: async (one) => {
      const { id } = await shop.db.one<{ id: string }>`select id from virtual_numbers where account_id = ${one.ada.id}`
      return { method: 'DELETE', path: `/open/voip/virtual-numbers/DID${id}`, body: null, headers: headersOf(one) }
    },
    makes: { state: 'quarantine', status: 'RELEASED', channels: 0, caller_ids: 0, balance: 7.5 },
    again: async (one, work) => assert.ok([200, 404].includes(await repeat(one, work))),
  },
  renewal: {
    ready: async ({ ada, group }) => {
      await ada.call('POST', '/open/numbers/purchase', { group_id: group })
      await shop.db.run`
        update virtual_numbers set expires_at = app_now() - interval '1 minute' where account_id = ${ada.id}`
    },
    work: async ({ ada }) => {
      const { id } = await shop.db.one<{ id: string }>`select id from virtual_numbers where account_id = ${ada.id}`
      return { renew: { account: ada.id, id } }
    },
    makes: { ...bought, months: 1, balance: 6, is_paid: true, jobs: 'numbers.renew,numbers.renew' },
    again: async (_one, work) => {
      assert.ok('renew' in work)
      await shop.db.begin((tx) => renew(tx, shop.parts.changes, work.renew, 30))
    },
  },
}

const moments = { before: 'between any two statements', sent: 'while any statement is under way' } as const

for (const [name, one] of Object.entries(cases)) {
  for (const when of ['before', 'sent'] as const) {
    const form = longForm(name === 'purchase' && when === 'before')
    test(`a process that is killed ${moments[when]} leaves a ${name} whole or undone`, form, async (t) => {
      const statements = await stopEverywhere(one, when)
      t.diagnostic(`stopped at each of ${statements} statements`)
      assert.ok(statements >= 8)
    })
  }
}
