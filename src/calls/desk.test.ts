import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { until } from '../../test/platform.ts'
import { makeWorld } from '../../test/world.ts'
import { makeDesk } from './desk.ts'

const world = await makeWorld()
const { db, call, tenant, parts } = world
const desk = makeDesk({
  ...{ db, seal: parts.seal, prices: parts.prices, log: pino({ level: 'silent' }), config: parts.config },
  linkOf: () => '',
  hangUp: () => {},
  trunks: () => [],
})

const addUser = async (who: Awaited<ReturnType<typeof tenant>>): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: 'ada@example.com' }
  return (await call('operator', 'POST', `/operator/accounts/${who.uuid}/users`, names)).body.user.uuid
}

test('whoever registers is looked after until the credentials end, also while suspended: a registration may be under way', async () => {
  const user = await addUser(await tenant())
  const arrive = (seconds: number) =>
    desk.admit({ username: `${Math.floor(Date.now() / 1_000) + seconds}:${user}`, identity: user, generation: null })
  const isPresent = () => desk.present().some((person) => person.user === user.slice(3))
  assert.ok('value' in (await arrive(2)))
  await call('operator', 'PATCH', `/operator/users/${user}`, { status: 'SUSPENDED' })
  assert.ok('refused' in (await arrive(2)))
  assert.ok(isPresent())
  await until(async () => !isPresent())
})
