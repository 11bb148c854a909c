import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startChat } from '../../test/chat.ts'
import { startHooks } from '../../test/hooks.ts'
import { until } from '../../test/platform.ts'

const chat = await startChat()
await chat.own()
const { call, channel, control, stands } = chat

test('a file of a handset is fetched by the platform alone, from no address within its own network', async () => {
  const ada = await chat.tenant()
  const [number, handset] = ['+447700920018', '+447700920028']
  await stands(ada, await channel(ada, number), 'C')
  const metadata = 'http://169.254.169.254/latest/meta-data/'
  const server = createServer((_, response) => void response.writeHead(302, { location: metadata }).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const hooks = await startHooks()
  after(async () => {
    server.close()
    await hooks.end()
  })

  const write = (url: string) =>
    call(ada, 'POST', `/sandbox/handsets/${handset}/msgapp`, { to: number, text: 'A file', url })
  const detour = `http://127.0.0.1:${port}/`
  for (const url of [metadata, 'http://[fe80::1]/', 'file:///etc/passwd', detour]) {
    const { status, body } = await write(url)
    assert.deepEqual([status, body.error_code], [400, 'url_refused'], url)
  }
  const missing = await write(hooks.open().url.replace('hooks', 'nothing'))
  assert.match(JSON.stringify(missing.body), /url answered 404/)
  await assert.rejects(control('POST', `/handsets/${handset}/msgapp`, { to: number, url: detour }), /400/)

  const body = Buffer.alloc(300_000, 'file')
  assert.equal((await write(hooks.file(body, 'text/plain', 'a.txt'))).status, 202)
  const { media } = await until(async () => {
    const { messages } = (await call(ada, 'GET', `/open/msgapp/messages/${number}/${handset}`)).body
    return messages[0]?.message
  })
  assert.deepEqual([media.name, media.mime_type], ['a.txt', 'text/plain'])
  const link = new URL(media.url)
  const fetched = await until(async () => {
    const answer = await chat.app.inject(link.pathname + link.search)
    return answer.statusCode === 200 && answer.rawPayload
  })
  assert.ok(fetched.equals(body))
})

test('nobody acts as a number that somebody has on the messaging app', async () => {
  const [ada, bob] = [await chat.tenant(), await chat.tenant()]
  const [hers, his] = ['+447700920038', '+447700920048']
  await stands(ada, await channel(ada, hers), 'C')
  await stands(bob, await channel(bob, his), 'C')
  const as = (number: string) => `/sandbox/handsets/${number}`
  for (const [what, body] of [
    ['msgapp', { to: hers, text: 'I am Bob' }],
    ['read', { from: hers }],
    ['msgapp-calls', { to: hers }],
  ] as const)
    for (const number of [his, hers]) {
      const answer = await call(ada, 'POST', `${as(number)}/${what}`, body)
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'not_a_handset'], what)
    }
  const foreign = await call(ada, 'PUT', as(his), { pairing: true })
  assert.deepEqual([foreign.status, foreign.body.error_code], [400, 'not_a_handset'])
  assert.equal((await call(ada, 'PUT', as(hers), { pairing: true })).status, 200)
})
