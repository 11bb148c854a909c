import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { makeRandom, mutate } from '@trunkline/sip/testing.ts'
import { invite, octets, requestText, until } from '@trunkline/sip/user-agent/testing.ts'
import { WebSocket } from 'ws'
import type { MediaEngine } from '../../ports/media.ts'
import { makeCallControl, openBrowser, openGateway, trunkOf } from './testing.ts'

const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
const rounds = process.env.TRUNKLINE_TEST_LONG === '1' ? 100_000 : 3_000

const media: MediaEngine = {
  openCall: async () => ({ outcome: 'refused', cause: 'full', reason: 'no media here' }),
  state: () => ({ calls: 0, capacity: 0 }),
  close: async () => {},
}

test(`${rounds} mutated frames from browsers throw nothing, and the next browser registers (seed ${seed})`, async (t) => {
  const { callControl } = makeCallControl(() => ({
    value: { targets: [{ trunk: 'carrier', number: '+33612345678' }] },
  }))
  const { gateway, url } = await openGateway(t, { callControl, media })
  await gateway.apply([trunkOf(9)])
  const random = makeRandom(seed)
  const seeds = [
    octets(invite),
    ...['REGISTER', 'INVITE', 'OPTIONS', 'BYE', 'INFO', 'CANCEL'].map((method) =>
      octets(
        requestText(
          method,
          gateway.port,
          'X-Device-Gen: 1\nExpires: 60\nAuthorization: Digest username="1:ANN", realm="us.test"\n',
        ),
      ),
    ),
  ]
  let socket = new WebSocket(url, 'sip')
  await once(socket, 'open')
  for (let round = 0; round < rounds; round++) {
    if (socket.readyState !== socket.OPEN) {
      socket = new WebSocket(url, 'sip')
      await once(socket, 'open')
    }
    socket.send(mutate(random, seeds), { binary: false })
    if (round % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  socket.close()
  const browser = await openBrowser(t, url, 'ANN')
  assert.match(await browser.register(), /^200/, `seed ${seed}`)
  await until(() => gateway.calls() === 0, 'the end of all calls')
})
