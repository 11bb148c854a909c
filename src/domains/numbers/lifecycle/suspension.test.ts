import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRecipeWorld, makeScene } from '../../../../test/recipes/scene.ts'
import { makeWorld } from '../../../../test/world.ts'
import { connect } from '../../../platform/db/sql.ts'
import { until } from '../../../platform/jobs/job-testing.ts'
import { reinstate, suspend } from './suspension.ts'

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'suspended')
const { db, parts, call } = world
const { tenant } = scene

// Another process of the same installation.
const other = await makeWorld({ TRUNKLINE_SANDBOX: 'true' }, {}, { db: { ...connect({ url: db.url }), url: db.url } })

/** One second, plus one for a busy machine. */
const promised = 2000

const text = (from: string) => ({ from_number: from, to_number: '+447700900123', text: 'Hello' })
const send = (through: Pick<typeof world, 'call'>, from: string) =>
  through.call(tenant, 'POST', '/open/sms/send', text(from))

const channel = async (uuid: string) => (await call(tenant, 'GET', `/open/sms/channel/${uuid}`)).body.channel
const status = async (uuid: string) =>
  (await call(tenant, 'GET', `/open/voip/virtual-numbers/${uuid}`)).body.number.status_text

test('a suspended number sends no message, in any process, at once; reinstatement restores it', async () => {
  const number = await scene.number()
  const id = number.uuid.slice(3)
  const before = [await status(number.uuid), await channel(number.channel)]
  for (const each of [world, other]) assert.equal((await send(each, number.number)).status, 202)

  await db.begin((tx) => suspend(tx, parts.changes, tenant.id, id, 'operator', 'Complaints'))
  const refused = await send(world, number.number)
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'number_suspended'])
  await until('the other process knows', async () => (await send(other, number.number)).status === 403, promised)
  assert.equal(await status(number.uuid), 'SUSPENDED')
  const { supports_sms_in, supports_sms_out } = await channel(number.channel)
  assert.deepEqual([supports_sms_in, supports_sms_out], [false, false])

  await db.begin((tx) => reinstate(tx, parts.changes, tenant.id, id))
  assert.equal((await send(world, number.number)).status, 202)
  await until('the other process knows', async () => (await send(other, number.number)).status === 202, promised)
  const { updated_at: _, ...restored } = await channel(number.channel)
  assert.deepEqual([await status(number.uuid), { ...restored, updated_at: before[1].updated_at }], before)
})

test('the account gets one event of a suspension, with the number and the reason', async () => {
  const number = await scene.number()
  for (const reason of ['Complaints', 'More complaints'])
    await db.begin((tx) => suspend(tx, parts.changes, tenant.id, number.uuid.slice(3), 'operator', reason))
  const events = await db.many<{ payload: { [key: string]: unknown } }>`
    select payload from events where account_id = ${tenant.id} and name = 'number.suspended'
      and conversation = ${number.number}`
  assert.deepEqual(
    events.map(({ payload }) => [payload.uuid, payload.phone_number, payload.status_text, payload.reason]),
    [[number.uuid, number.number, 'SUSPENDED', 'Complaints']],
  )
})

test('an account cannot suspend or reinstate a foreign number; a released number leaves no suspension', async () => {
  const number = await scene.number()
  const id = number.uuid.slice(3)
  const stranger = await world.tenant()
  assert.equal(await db.begin((tx) => suspend(tx, parts.changes, stranger.id, id, 'operator', 'Spite')), null)
  assert.equal(await db.begin((tx) => reinstate(tx, parts.changes, stranger.id, id)), null)
  await db.begin((tx) => suspend(tx, parts.changes, tenant.id, id, 'operator', 'Complaints'))
  assert.equal((await call(tenant, 'DELETE', `/open/voip/virtual-numbers/${number.uuid}`)).status, 200)
  assert.equal(await db.begin((tx) => reinstate(tx, parts.changes, tenant.id, id)), null)
  assert.equal((await db.maybe`select from number_suspensions where virtual_number_id = ${id}`) === null, true)
})
