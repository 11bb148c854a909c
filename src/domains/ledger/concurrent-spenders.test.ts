import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { randomInputs } from '../../../test/needs.ts'
import { connect, type Tx } from '../../platform/db/sql.ts'
import { Problem } from '../../platform/http/problem.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import { openAccount } from '../accounts/ops.ts'
import { capture, charge, deposit, extend, hold, refund, release } from './ops.ts'

/** Tests the ledger against a simple model with 64 concurrent spenders. The long form runs a million operations. */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const operations = long ? 1_000_000 : randomInputs(4_000)
const spenders = 64

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
let state = seed
/** Returns a random integer below `limit`. */
const chance = (limit: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}
const pick = <T>(list: readonly T[]): T => {
  const one = list[chance(list.length)]
  assert.ok(one !== undefined)
  return one
}

/**
 * Expected state of an account, in micro-dollars. Only sums, because the response to a commit may arrive after that of
 * a later commit. `balance` excludes the holds. A hold has the amount put into it and the amount captured at its end.
 */
type Model = {
  id: string
  balance: number
  holds: Map<string, HoldState>
  latest: string[]
  sold: number
  cash: number
}
type HoldState = { put: number; captured: number | null }
type Operation = 'deposit' | 'charge' | 'refund' | 'hold' | 'extend' | 'capture' | 'release'

const mix: Operation[] = [
  ...(['deposit', 'charge', 'charge', 'charge', 'refund', 'hold', 'hold', 'extend', 'capture', 'release'] as const),
]

const looker = await testDatabase()
/** One connection per spender, so that they contend in the database and not for connections. */
const db = connect({ url: looker.url, connections: spenders })
after(db.end)

const open = async (): Promise<Model> => {
  const id = await db.begin((tx) => openAccount(tx, { name: 'Spender', sandbox: true }))
  return { id, balance: 0, holds: new Map(), latest: [], sold: 0, cash: 0 }
}

/** Picks one of the last holds of the account, open or ended. One time in ten, picks a hold of another account, which
 *  must not be found. */
const anyHold = (account: Model, all: Model[]): string | undefined => {
  const { latest } = chance(10) === 0 ? pick(all) : account
  return latest.length === 0 ? undefined : pick(latest)
}

/** Tries one operation. @returns the same operation for the model, or null if the ledger rightly refused it */
const attempt = async (tx: Tx, one: Model, all: Model[], what: Operation): Promise<(() => void) | null> => {
  const amount = 1 + chance(3_000_000)
  if (what === 'deposit') {
    await deposit(tx, one.id, amount, { kind: 'credit' })
    return () => {
      one.balance += amount
      one.cash += amount
    }
  }
  if (what === 'charge') {
    await charge(tx, one.id, amount, 'sms', { kind: 'sms', limitedKeys: null })
    return () => {
      one.balance -= amount
      one.sold += amount
    }
  }
  if (what === 'refund') {
    await refund(tx, one.id, amount, 'sms', { kind: 'sms_refund', adjusts: null })
    return () => {
      one.balance += amount
      one.sold -= amount
    }
  }
  if (what === 'hold') {
    const id = await hold(tx, one.id, amount, 'calls', { kind: 'call', reference: 'a call', limitedKeys: null })
    return () => {
      one.holds.set(id, { put: amount, captured: null })
      one.latest = [...one.latest.slice(-20), id]
    }
  }
  const id = anyHold(one, all)
  if (id === undefined) return null
  const held = all.flatMap(({ holds }) => holds.get(id) ?? [])[0]
  const isOurs = one.holds.has(id)
  assert.ok(held)
  if (what === 'extend') {
    if (!(await extend(tx, one.id, id, amount))) return null
    assert.ok(isOurs)
    return () => {
      held.put += amount
    }
  }
  const part = what === 'release' ? 0 : chance(held.put)
  const ended = what === 'release' ? await release(tx, one.id, id) : await capture(tx, one.id, id, part)
  if (!ended) return null
  assert.ok(isOurs)
  return () => {
    assert.equal(held.captured, null, 'a hold ends once')
    held.captured = part
  }
}

/** Sums each account's money by transfers, balance and holds, in one snapshot. */
const books = () => db.many<{
  account_id: string
  balance: string
  held: string
  summed: string
  set_aside: string
  all_books: string
}>`
  select b.account_id, b.balance, coalesce(h.held, 0)::text as held, coalesce(t.summed, 0)::text as summed,
    coalesce(t.set_aside, 0)::text as set_aside,
    (b.balance + coalesce(h.held, 0) + coalesce(t.sold, 0) - coalesce(t.cash, 0))::text as all_books
  from balances b
  left join (select account_id, sum(amount) as held from holds group by account_id) h using (account_id)
  left join (
    select account_id,
      sum(case when credit = 'balance' then amount when debit = 'balance' then -amount end) as summed,
      sum(case when credit = 'held' then amount when debit = 'held' then -amount end) as set_aside,
      sum(case when credit in ('sms', 'calls') then amount when debit in ('sms', 'calls') then -amount end) as sold,
      sum(amount) filter (where debit = 'cash') as cash
    from transfers group by account_id) t using (account_id)`

const check = async (): Promise<void> => {
  for (const row of await books()) {
    assert.equal(micros(row.summed), micros(row.balance), `seed ${seed}: the transfers sum to ${row.summed}`)
    assert.equal(micros(row.set_aside), micros(row.held), `seed ${seed}: the transfers hold ${row.set_aside}`)
    assert.equal(Number(row.all_books), 0, `seed ${seed}`)
    assert.ok(Number(row.balance) >= 0, row.balance)
  }
}

test(`${operations} random operations of ${spenders} spenders: the books sum to zero and match a simple model (seed ${seed})`, async (t) => {
  const accounts = await Promise.all(Array.from({ length: 12 }, open))
  const counts = { done: 0, refused: 0, void: 0 }
  let left = operations
  const spend = async () => {
    while (left-- > 0) {
      const one = pick(accounts)
      const what = pick(mix)
      try {
        const apply = await db.begin((tx) => attempt(tx, one, accounts, what))
        apply?.()
        if (apply) counts.done++
        else counts.void++
      } catch (error) {
        const isExcess = error instanceof Error && /^the hold .* has /.test(error.message)
        assert.ok(isExcess || (error instanceof Problem && error.status === 402), `seed ${seed}: ${error}`)
        counts.refused++
      }
      if (left % Math.ceil(operations / 10) === 0) await check()
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: spenders }, spend))
  await check()
  for (const { account_id, balance, held } of await books()) {
    const model = accounts.find(({ id }) => id === account_id)
    assert.ok(model)
    let modelHeld = 0
    for (const { put, captured } of model.holds.values()) {
      model.balance -= captured ?? put
      model.sold += captured ?? 0
      if (captured === null) modelHeld += put
    }
    assert.equal(balance, Number(decimal(model.balance)).toFixed(6), `seed ${seed}`)
    assert.equal(micros(held), modelHeld, `seed ${seed}`)
    assert.equal(model.balance + modelHeld + model.sold - model.cash, 0, `seed ${seed}`)
  }
  assert.ok(counts.refused > operations / 100 && counts.done > operations / 3, JSON.stringify(counts))
  t.diagnostic(`${JSON.stringify(counts)} in ${Math.round((performance.now() - began) / 1000)} s, seed ${seed}`)
})
