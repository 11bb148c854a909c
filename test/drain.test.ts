import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPlatform, until } from './platform.ts'

test('a process that drains is not ready, and serves requests until its time is over', async () => {
  const platform = await startPlatform(undefined, { TRUNKLINE_DRAIN_SECONDS: '10' })
  after(() => platform.end('SIGKILL'))
  const ask = async (path: string) => {
    const answer = await fetch(platform.url + path, { headers: { 'x-user-api-key': 'an api key for these tests' } })
    return { status: answer.status, connection: answer.headers.get('connection'), body: await answer.json() }
  }
  void platform.end('SIGTERM')
  const { body } = await until(async () => {
    const answer = await ask('/readyz')
    return answer.status === 503 && answer
  })
  assert.equal(Object(body).error_code, 'stopping')
  const { status, connection } = await ask('/open/info')
  assert.deepEqual({ status, connection }, { status: 200, connection: 'close' })
})
