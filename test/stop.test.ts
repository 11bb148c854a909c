import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { apiKey, startPlatform, until } from './platform.ts'

test('a stop answers open requests and does not wait for idle connections', async (t) => {
  const platform = await startPlatform()
  t.after(() => platform.end('SIGKILL'))
  const { port } = new URL(platform.url)
  const open = async (words: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(words)
    return socket
  }
  const head = `POST /open/sms/send HTTP/1.1\r\nhost: a\r\nx-user-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`
  const halfBody = await open(`${head}content-length: 2\r\n\r\n{`)
  const halfHead = await open(head)
  const idle = await open('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(idle, 'readable')
  const ended = platform.end()
  await until(() =>
    fetch(platform.url).then(
      () => false,
      () => true,
    ),
  ) // not listening any more
  halfBody.write('}')
  halfHead.write('content-length: 2\r\n\r\n{}')
  const [one, other] = await Promise.all([text(halfBody), text(halfHead), text(idle)])
  assert.match(one, /^HTTP\/1.1 400 /)
  assert.match(other, /^HTTP\/1.1 400 [\s\S]*connection: close/i)
  // Exit code 1 means that its patience of half a minute is over.
  assert.equal(await ended, 0)
})
