import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { makeSupplierLimiter } from './supplier-limiter.ts'

const ada = { account: 'ada', isKeyed: false }
const bob = { account: 'bob', isKeyed: false }
const holdOpen = () => Promise.withResolvers<string>()

test('an account has two supplier requests at a time, in order, and does not delay other accounts', async () => {
  const gate = makeSupplierLimiter()
  const works = [holdOpen(), holdOpen(), holdOpen()]
  const begun: number[] = []
  const answers = works.map((work, i) =>
    gate(ada, () => {
      begun.push(i)
      return work.promise
    }),
  )
  assert.equal(await gate(bob, async () => 'done'), 'done')
  assert.deepEqual(begun, [0, 1])
  works[1]?.resolve('second')
  await answers[1]
  await setImmediate()
  assert.deepEqual(begun, [0, 1, 2])
  for (const work of works) work.resolve('')
  await Promise.all(answers)
})

test('two keyed requests of an account wait; more are rejected as busy, and those of other accounts are not', async () => {
  const gate = makeSupplierLimiter()
  const work = holdOpen()
  const one = { account: 'd', isKeyed: true }
  const keyed = [1, 2].map(() => gate(one, () => work.promise))
  await assert.rejects(
    gate(one, () => work.promise),
    { code: 'supplier_busy', status: 503 },
  )
  assert.equal(await gate({ account: 'e', isKeyed: true }, async () => 'at once'), 'at once')
  work.resolve('there')
  assert.deepEqual(await Promise.all(keyed), ['there', 'there'])
  assert.equal(await gate(one, () => work.promise), 'there')
})

test('a request that waits too long is rejected, and its late result is not lost', async () => {
  const gate = makeSupplierLimiter(20)
  const [first, second] = [holdOpen(), holdOpen()]
  const late = holdOpen()
  const sentAway = [gate(ada, () => first.promise, late.resolve), gate(ada, () => second.promise)]
  let begun = 0
  const third = gate(ada, async () => begun++)
  for (const one of [...sentAway, third]) await assert.rejects(one, { code: 'supplier_busy' })
  first.resolve('a hold')
  second.reject(new Error('the link broke'))
  assert.equal(await late.promise, 'a hold')
  await setImmediate()
  assert.equal(begun, 0)
  assert.equal(await gate(ada, async () => 'free again'), 'free again')
})
