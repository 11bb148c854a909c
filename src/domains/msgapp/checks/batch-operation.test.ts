import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeRecipeWorld, makeScene } from '../../../../test/recipes/scene.ts'

// Background checks over the sandbox network.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'batch')
const ask = (method: 'GET' | 'POST', url: string, body?: object) => world.call(scene.tenant, method, url, body)
const usage = async () => (await ask('GET', '/open/info')).body.usage

const done = (uuid: string) =>
  until(async () => {
    const { body } = await ask('GET', `/open/msgapp/check-numbers/${uuid}`)
    return body.batch.state === 'completed' ? body : null
  })

const [registered, gone, business] = ['+442079460951', '+442079460006', '+442079460007']

test('a batch reports each number as it was given: one written in two ways, an impossible one, a business', async () => {
  await scene.chat()
  await scene.chat()
  const before = await usage()
  const numbers = [registered, registered.slice(1), gone, business, '12']
  const { status, body } = await ask('POST', '/open/msgapp/check-numbers', { numbers })
  assert.equal(status, 202)
  assert.deepEqual([body.batch.total, body.batch.checked, body.batch.state], [5, 1, 'running'])
  const { batch, results } = await done(body.batch.uuid)
  assert.equal(batch.checked, 5)
  assert.deepEqual(
    numbers.map((number) => results[number].on_msgapp ?? results[number].is_valid),
    [true, true, false, true, false],
  )
  assert.equal(results[business].msgapp_info.is_business, true)
  assert.equal((await usage()).number_check_count - before.number_check_count, 4, 'an impossible number is not a check')
  const { events } = await world.db.one<{ events: number }>`
    select count(*)::integer as events from events where account_id = ${scene.tenant.id} and name = 'msgapp.check.completed'`
  assert.equal(events, 1)
})

test('a cached result is returned at once, without a network request', async () => {
  const { body } = await ask('POST', '/open/msgapp/check-numbers', { numbers: [registered, gone] })
  assert.deepEqual([body.batch.state, body.batch.checked], ['completed', 2])
})

test('numbers that a batch finds on the messaging app become WAPH in the directory, and the others stay PH', async () => {
  const numbers = ['+442079460961', '+442079470006']
  const contact_details = numbers.map((value) => ({ type: 'PH', value }))
  const { uuid } = (await ask('POST', '/open/contacts', { first_name: 'Ada', contact_details })).body.contact
  const { body } = await ask('POST', '/open/msgapp/check-numbers', { numbers })
  await done(body.batch.uuid)
  const { contact } = (await ask('GET', `/open/contacts/${uuid}`)).body
  assert.deepEqual(
    contact.details.map(({ type, value }: Record<string, unknown>) => [type, value]),
    [
      ['WAPH', numbers[0]],
      ['PH', numbers[1]],
    ],
  )
})
