import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import Fastify from 'fastify'
import { makeAlias } from './alias.ts'

const server = (alias: string | null) => {
  const naming = makeAlias(alias)
  const app = Fastify(naming.rewriteUrl ? { rewriteUrl: naming.rewriteUrl } : {})
  naming.install(app)
  app.post('/open/msgapp/check', (request) => ({
    on_msgapp: true,
    msgapp_info: { features: ['msgapp', 'voice'] },
    got: request.body,
  }))
  app.get('/open/groups', () => ({
    features: ['voice', 'msgapp', 'msgapp_business'],
    is_msgapp_call: false,
    text: 'msgapp',
  }))
  return app
}

test('a request in the second spelling is accepted and answered in it', async () => {
  const app = server('chatapp')
  const answer = await app.inject({
    method: 'POST',
    url: '/open/chatapp/check',
    payload: { event: 'chatapp.message.received', text: 'chatapp' },
  })
  assert.deepEqual(answer.json(), {
    on_chatapp: true,
    chatapp_info: { features: ['chatapp', 'voice'] },
    got: { event: 'chatapp.message.received', text: 'chatapp' },
  })
})

test('a request in the first spelling is answered in it', async () => {
  const answer = await server('chatapp').inject({ method: 'POST', url: '/open/msgapp/check', payload: {} })
  assert.deepEqual(answer.json(), { on_msgapp: true, msgapp_info: { features: ['msgapp', 'voice'] }, got: {} })
})

test('a request in neither spelling gets fields in both, documented features, and unchanged texts', async () => {
  const answer = await server('chatapp').inject({ url: '/open/groups' })
  assert.deepEqual(answer.json(), {
    features: ['voice', 'msgapp', 'msgapp_business'],
    is_msgapp_call: false,
    is_chatapp_call: false,
    text: 'msgapp',
  })
})

test('an error message repeats the path in the spelling of the request', async () => {
  const app = server('chatapp')
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ error: true, error_message: `There is nothing at ${request.url}` }),
  )
  for (const word of ['msgapp', 'chatapp']) {
    const answer = await app.inject({ url: `/open/${word}/nowhere` })
    assert.equal(answer.json().error_message, `There is nothing at /open/${word}/nowhere`)
  }
})

test('requests and responses stay unchanged without a second spelling', async () => {
  const app = server(null)
  assert.equal((await app.inject({ method: 'POST', url: '/open/chatapp/check', payload: {} })).statusCode, 404)
  assert.deepEqual((await app.inject({ url: '/open/groups' })).json().features, ['voice', 'msgapp', 'msgapp_business'])
})

test('what users write is never translated: words of a search, names of accounts and of headers', async () => {
  const app = server('chatapp')
  app.get('/open/msgapp/query', (request) => ({ text: JSON.stringify(request.query) }))
  const seen: unknown[] = []
  app.post('/open/msgapp/headers', (request) => {
    seen.push(request.body)
    return { headers: { 'x-msgapp-token': '1' } }
  })
  for (const [sent, got] of [
    ['q=chatapp&query=my%20chatapp', { q: 'chatapp', query: 'my chatapp' }],
    ['name=chatapp', { name: 'chatapp' }],
    ['q=who%3F&name=chatapp.message.new', { q: 'who?', name: 'msgapp.message.new' }],
    ['kind=chatapp-call&q=chatapp', { kind: 'msgapp-call', q: 'chatapp' }],
    ['kinds=sms,chatapp', { kinds: 'sms,msgapp' }],
    ['route=%2Fopen%2Fchatapp%2Fquery', { route: '/open/msgapp/query' }],
    ['event_name=chatapp.message.new', { event_name: 'msgapp.message.new' }],
  ] as const)
    assert.deepEqual(JSON.parse((await app.inject({ url: `/open/chatapp/query?${sent}` })).json().text), got, sent)

  const headers = { 'x-chatapp-token': 'secret' }
  const answer = await app.inject({ method: 'POST', url: '/open/chatapp/headers', payload: { headers } })
  assert.deepEqual([seen, answer.json()], [[{ headers }], { headers: { 'x-msgapp-token': '1' } }])
})

test('a streamed file stays unchanged', async () => {
  const app = server('chatapp')
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  app.post<{ Body: Readable }>('/open/msgapp/import', async (request) => ({ got: await text(request.body) }))
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const word of ['msgapp', 'chatapp']) {
    const url = `${base}/open/${word}/import`
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: 'chatapp' })
    assert.deepEqual(await answer.json(), { got: 'chatapp' })
  }
  await app.close()
})
