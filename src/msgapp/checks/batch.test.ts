import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeScene, makeScenery } from '../../../test/recipes/scene.ts'

// Checks in the background, over the sandbox network.

const world = await makeScenery()
const scene = await makeScene(world, 'batch')
const ask = (method: 'GET' | 'POST', url: string, body?: object) => world.call(scene.tenant, method, url, body)
const usage = async () => (await ask('GET', '/open/info')).body.usage

const done = (uuid: string) =>
  until(async () => {
    const { body } = await ask('GET', `/open/msgapp/check-numbers/${uuid}`)
    return body.batch.state === 'completed' ? body : null
  })

const [there, gone, business] = ['+442079460951', '+442079460006', '+442079460007']

test('a batch tells of each number as it was given: one written in two ways, one that cannot exist, a business', async () => {
  await scene.chat()
  await scene.chat()
  const before = await usage()
  const numbers = [there, there.slice(1), gone, business, '12']
  const { status, body } = await ask('POST', '/open/msgapp/check-numbers', { numbers })
  assert.equal(status, 202)
  assert.deepEqual([body.batch.total, body.batch.checked, body.batch.state], [5, 1, 'running'])
  const { batch, results } = await done(body.batch.uuid)
  assert.equal(batch.checked, 5)
  assert.deepEqual(
    numbers.map((given) => results[given].on_msgapp ?? results[given].is_valid),
    [true, true, false, true, false],
  )
  assert.equal(results[business].msgapp_info.is_business, true)
  assert.equal((await usage()).number_check_count - before.number_check_count, 4, 'what cannot exist is no check')
  const { events } = await world.db.one<{ events: number }>`
    select count(*)::integer as events from events where account_id = ${scene.tenant.id} and name = 'msgapp.check.completed'`
  assert.equal(events, 1)
})

test('what is known already is told at once, and asked of nobody', async () => {
  const { body } = await ask('POST', '/open/msgapp/check-numbers', { numbers: [there, gone] })
  assert.deepEqual([body.batch.state, body.batch.checked], ['completed', 2])
})
