import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import WebSocket from 'ws'
import { startPlatform, until } from '../platform.ts'

test('a port of SIP that another program has keeps back calls alone, and only while it has it', async (t) => {
  const other = createSocket('udp4')
  other.bind(0, '127.0.0.1')
  await once(other, 'listening')
  const taken = String(other.address().port)
  const ports = { TRUNKLINE_SIP_PORT: taken, TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  const platform = await startPlatform(undefined, ports)
  t.after(() => platform.end())
  assert.equal((await platform.call('GET', '/open/info')).status, 200)
  assert.match(platform.output(), /there are no calls for now: .*TRUNKLINE_SIP_PORT/)

  /** The status with which a browser's WebSocket is answered. */
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
