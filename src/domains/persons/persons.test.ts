import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, callAs, claim, cookieOf, freshClaim, goodPassword, member, signIn, tokenOf } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'

const world = await makeWorld({ TRUNKLINE_WRONG_KEYS_PER_MINUTE: '300' })
const { db, call, operatorKey } = world
const ada = await world.tenant()

test('of fifty claims at once, one makes the first person; the others are answered 410', async () => {
  const token = await freshClaim(world)
  const tries = Array.from({ length: 50 }, (_, i) =>
    callAs(world, null, 'POST', '/console/claim', {
      token,
      name: 'Olive',
      email: `claim.${i}@example.com`,
      password: goodPassword,
    }),
  )
  const answers = await Promise.all(tries)
  const codes = answers.map(({ status, body }) => `${status} ${body.error_code ?? ''}`).sort()
  assert.deepEqual(codes, ['201 ', ...Array.from({ length: 49 }, () => '410 already_claimed')])
  const { n } = await db.one<{ n: number }>`select count(*)::integer as n from persons`
  assert.equal(n, 1)
  assert.deepEqual((await call(null, 'GET', '/console/claim')).body, { success: true, claimed: true })
})
