import assert from 'node:assert/strict'
import { type CarrierAnswer, carrierSuite, makeShareDeps } from './carrier.conformance.ts'
import { driverOf } from './drivers.ts'
import { connectProvider, disconnectProvider, startProvider, type TestProvider } from './sms-http-testing.ts'

// The port of carriers over HTTP, by the driver that settings describe.

const answerOf: Readonly<Record<CarrierAnswer, TestProvider['answers'][number]>> = {
  accept: ({ id }, response) => response.end(JSON.stringify({ id })),
  busy: (_, response) => response.writeHead(429).end('{"code":"slow_down"}'),
  refuse: (_, response) => response.writeHead(400).end('{}'),
  cut: (_, response) => response.destroy(),
}

await carrierSuite('HTTP by settings', async (world) => {
  const ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
  const provider = await startProvider(ours)
  const answers: CarrierAnswer[] = []
  const driver = driverOf('sms-http')
  let current = ''
  // The suite chooses an answer when the submit arrives.
  const queue = provider.answers
  const next: TestProvider['answers'][number] = (submit, response) => {
    queue.push(next)
    answerOf[answers.shift() ?? 'accept'](submit, response)
  }
  queue.push(next)
  const submitOf = (id: string) => {
    const found = provider.submits.find((one) => one.id === id)
    assert.ok(found)
    return { ...found, callback: found.callback.replace(/^http:\/\/[^/]+/, ours) }
  }
  return {
    capabilities: driver.capabilitiesOf(provider.settings),
    connectShare: (share, pace) =>
      driver.connect({ ...provider.settings, tps: pace, slots: share.of }, makeShareDeps(share)),
    get received() {
      return provider.submits.map(({ id, from: source, text }) => ({ id, source, text, part: 1 }))
    },
    answers,
    codes: { busy: 'generic_slow_down', refuse: 'http_400' },
    connect: async (pace) => {
      // With the default, a lost answer would wait for a minute.
      const settings = { policy: 'resubmit', ...(pace === null ? {} : { tps: pace }) }
      current = await connectProvider(world, provider, settings)
      return current
    },
    disconnect: (connection) => disconnectProvider(world, connection),
    report: async (id, state) => assert.equal(await provider.report(submitOf(id), state), 200),
    write: async (from, to, text) => assert.equal(await provider.write(current, { from, to, text }), 200),
  }
})
