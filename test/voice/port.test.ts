import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import WebSocket from 'ws'
import { startPlatform, until } from '../platform.ts'

test('a SIP port in use by another program disables only calls, and only while it is in use', async (t) => {
  const other = createSocket('udp4')
  other.bind(0, '127.0.0.1')
  await once(other, 'listening')
  const taken = String(other.address().port)
  const ports = { TRUNKLINE_SIP_PORT: taken, TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  const platform = await startPlatform(undefined, ports)
  t.after(() => platform.end())
  assert.equal((await platform.call('GET', '/open/info')).status, 200)
  assert.match(platform.output(), /there are no calls for now: .*TRUNKLINE_SIP_PORT/)

  /** The status that answers a browser's WebSocket. */
  const knock = async () => {
    const socket = new WebSocket(`${platform.url.replace('http', 'ws')}/voice`, 'sip')
    const [what] = await Promise.race([
      once(socket, 'open').then(() => [101]),
      once(socket, 'unexpected-response').then(([, answer]) => [answer.statusCode]),
    ])
    socket.terminate()
    return what
  }
  assert.equal(await knock(), 503)
  other.close()
  await until(async () => (await knock()) === 101)
  await until(async () => /calls are possible now/.test(platform.output()))
})
