import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type WebSocket, WebSocketServer } from 'ws'
import {
  AuthenticationError,
  Trunkline,
  verifyWebhook,
  WebhookSignatureError,
} from '../../packages/client/src/index.ts'
import { assemble } from '../../src/assemble.ts'
import { formatSigningSecret, signatureHeaders } from '../../src/platform/lib/webhook-signature.ts'
import { startRoles } from '../../src/start-roles.ts'
import { makeRelay } from '../chaos/relay.ts'
import { until } from '../platform.ts'
import { makeWorld } from '../world.ts'

const { parts, tenant } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const running = await startRoles(await assemble({ ...parts, config: { ...parts.config, port: 0, roles: ['api'] } }))
after(running.stop)
const baseUrl = `http://127.0.0.1:${running.port}`

const createContact = (client: Trunkline, first_name: string) =>
  client.contacts.create({ first_name, contact_details: [{ type: 'E', value: 'ada@example.com' }] })

test('events arrive in order and once, also when the connection breaks between them', async (t) => {
  const relay = await makeRelay(t, running.port)
  const { key } = await tenant()
  const client = new Trunkline({ apiKey: key, baseUrl: `http://127.0.0.1:${relay.port}` })
  const direct = new Trunkline({ apiKey: key, baseUrl })
  const stop = new AbortController()
  t.after(() => stop.abort())
  const received: string[] = []
  let isBroken = false
  const listening = (async () => {
    for await (const { payload } of client.events.listen({ events: ['contact.created'], signal: stop.signal })) {
      if (payload.event !== 'contact.created') throw new Error(payload.event)
      received.push(String(payload.first_name))
      if (received.length === 5 && !isBroken) {
        isBroken = true
        relay.down()
        relay.up()
      }
    }
  })()
  // Only new events are sent, so the first ones may come before the connection.
  await until(async () => {
    await createContact(direct, 'Early')
    return received.length > 0
  })
  const early = received.length
  for (let i = 0; i < 12; i++) await createContact(direct, `Ada ${i}`)
  await until(async () => received.includes('Ada 11'))
  stop.abort()
  await listening
  const names = received.slice(early).filter((name) => name !== 'Early')
  assert.deepEqual(
    names,
    Array.from({ length: 12 }, (_, i) => `Ada ${i}`),
  )
  assert.ok(isBroken && relay.attempts.length >= 2)
})

test('an event is acknowledged once its handling is over, and is sent again after a handling that failed', async (t) => {
  const heard: { after: string | null; frames: string[] }[] = []
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server
  const send = (socket: WebSocket, frame: object) => socket.send(JSON.stringify(frame))
  const eventOf = (id: string) => ({ type: 'event', id, name: 'contact.created', body: '{"event":"contact.created"}' })
  server.on('connection', (socket, { url }) => {
    const one = { after: new URL(url ?? '', 'ws://x').searchParams.get('after'), frames: [] as string[] }
    heard.push(one)
    socket.on('message', (data) => one.frames.push(JSON.parse(String(data)).id))
    send(socket, { type: 'ready', after: one.after ?? 'EVT0' })
    for (const id of ['EVT1', 'EVT2']) if (one.after === null || one.after < id) send(socket, eventOf(id))
  })
  /** The server has heard everything that the client sent until now: the answer to a ping comes behind it. */
  const settled = async () => {
    for (const socket of server.clients) {
      const pong = once(socket, 'pong')
      socket.ping()
      await pong
    }
  }
  const client = new Trunkline({ apiKey: 'key', baseUrl: `http://127.0.0.1:${port}` })
  const events = client.events.listen()[Symbol.asyncIterator]()
  assert.equal((await events.next()).value?.id, 'EVT1')
  await settled()
  assert.deepEqual(heard[0]?.frames, [], 'while the first event is handled')
  assert.equal((await events.next()).value?.id, 'EVT2')
  await settled()
  assert.deepEqual(heard[0]?.frames, ['EVT1'])
  await events.return?.()
  await assert.rejects(async () => {
    for await (const { id } of client.events.listen({ after: 'EVT1' })) throw new Error(`${id} cannot be handled`)
  }, /EVT2 cannot be handled/)
  await until(async () => heard.some(({ after }) => after === 'EVT1'))
  assert.deepEqual(heard.find(({ after }) => after === 'EVT1')?.frames, [])
})

test('a key that may not listen ends the iteration with the refusal', async () => {
  const client = new Trunkline({ apiKey: 'wrong', baseUrl })
  await assert.rejects(async () => {
    for await (const event of client.events.listen()) assert.fail(event.id)
  }, AuthenticationError)
})

const secret = formatSigningSecret(Buffer.alloc(32, 7))
const body = JSON.stringify({ event: 'contact.created', first_name: 'Ada' })
const now = Date.parse('2026-11-21T09:00:00Z')

test('a webhook that the platform or another library signed is verified, with Headers or those of Node', async () => {
  const ours = signatureHeaders([Buffer.alloc(32, 9), Buffer.alloc(32, 7)], 'EVT1', body, now)
  assert.equal((await verifyWebhook(body, ours, secret, { now })).event, 'contact.created')
  assert.equal((await verifyWebhook(Buffer.from(body), new Headers(ours), secret, { now })).event, 'contact.created')
  const signature = new Webhook(secret).sign('EVT2', new Date(now), body)
  const theirs = { 'webhook-id': 'EVT2', 'webhook-timestamp': String(now / 1000), 'webhook-signature': signature }
  assert.equal((await verifyWebhook(body, theirs, secret, { now })).event, 'contact.created')
})

test('a webhook with a wrong signature, body, secret, time or header is refused', async () => {
  const headers = signatureHeaders([Buffer.alloc(32, 7)], 'EVT1', body, now)
  const refused = [
    () => verifyWebhook(`${body} `, headers, secret, { now }),
    () => verifyWebhook(body, headers, formatSigningSecret(Buffer.alloc(32, 8)), { now }),
    () => verifyWebhook(body, headers, 'whsec_', { now }),
    () => verifyWebhook(body, headers, secret, { now: now + 301_000 }),
    () => verifyWebhook(body, headers, secret, { now: now - 301_000 }),
    () => verifyWebhook(body, { ...headers, 'webhook-timestamp': 'soon' }, secret, { now }),
    () => verifyWebhook(body, { ...headers, 'webhook-signature': 'v1,%%% v2,AAAA' }, secret, { now }),
    () => verifyWebhook(body, { ...headers, 'webhook-id': undefined }, secret, { now }),
  ]
  for (const refusal of refused) await assert.rejects(refusal, WebhookSignatureError)
})
