import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeSimulatorHome, password, startSimulator } from '../../../test/simulator.ts'
import { makeWorld } from '../../../test/world.ts'

const world = await makeWorld()
const call = (method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) => world.call('operator', method, url, body)

test('the operator sees the state of every bind, and the reason of a refusal', async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const { carriers, remoteConnections } = world.parts
  after(() => Promise.all([remoteConnections.end(), carriers.close()]))
  await carriers.start()
  await remoteConnections.start()
  const settings = { host: '127.0.0.1', port: simulator.smppPort, system_id: 'us', password, bind: 'pair', binds: 2 }
  const created = await call('POST', '/operator/connections', { kind: 'smpp', name: 'carrier', settings })
  const url = `/operator/connections/${created.body.connection.uuid}`
  const state = async () => (await call('GET', url)).body.connection.state
  const binds = async () => (await state())?.binds.map(({ bind, state }: Record<string, string>) => `${bind} ${state}`)
  const four = ['transmitter bound', 'receiver bound', 'transmitter bound', 'receiver bound']
  await until(async () => JSON.stringify(await binds()) === JSON.stringify(four))
  const { state: whole, fatal, in_flight, submitted } = await state()
  assert.deepEqual([whole, fatal, in_flight, submitted], ['bound', false, 0, 0])

  await simulator.call('POST', '/faults', { kind: 'disconnect', now: true, bind: 1 })
  await until(async () => (await state()).binds.some((bind: { last_error?: string }) => bind.last_error))
  assert.equal((await state()).state, 'bound')
  await until(async () => JSON.stringify(await binds()) === JSON.stringify(four))

  await call('PATCH', url, { settings: { password: 'wrong' } })
  const tried = await call('POST', `${url}/test`)
  assert.deepEqual([tried.body.working, tried.body.message], [false, 'bind refused: ESME_RINVPASWD'])
  const refused = await state()
  assert.deepEqual([refused.state, refused.fatal], ['down', true])
  await call('PATCH', url, { settings: { password } })
  await until(async () => (await state())?.state === 'bound')
})
