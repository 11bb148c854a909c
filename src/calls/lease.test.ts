import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import type { Db } from '../db/sql.ts'
import { freeVoice, type Lease, makeLease } from './lease.ts'

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
