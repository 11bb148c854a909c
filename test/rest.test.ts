import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { runningUrl } from '../src/platform/db/embedded.ts'
import { connect } from '../src/platform/db/sql.ts'
import { apiKey, startPlatform, until } from './platform.ts'

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))

/** Names of the threads of a process; none where there is no /proc. */
const threadsOf = (pid: number): string[] => {
  if (process.platform !== 'linux') return []
  const folder = `/proc/${pid}/task`
  return readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/comm`, 'utf8').trim())
}

test('at rest there are at most five database sessions and no media thread, which the first call starts', async (t) => {
  const db = connect({ url: (await runningUrl(platform.home)) ?? '', connections: 1 })
  t.after(db.end)
  const sessions = async () =>
    (
      await db.one<{ open: number }>`
        select count(*) as open from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`
    ).open
  await Promise.all(Array.from({ length: 100 }, () => platform.call('GET', '/open/info')))
  await until(async () => (await sessions()) <= 5)

  if (process.platform !== 'linux') return
  const hasMedia = () => threadsOf(platform.pid).some((name) => /media/.test(name))
  assert.equal(hasMedia(), false)
  const path = '/operator/trunks/sandbox-trunk/check'
  const { status } = await platform.call('POST', path, { echo_number: '+447700900555' })
  assert.equal(status, 200)
  assert.equal(hasMedia(), true)
})

test('a stop answers open requests and does not wait for idle connections', async () => {
  const { port } = new URL(platform.url)
  const open = async (words: string) => {
    const socket = connectTcp(Number(port), '127.0.0.1')
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
