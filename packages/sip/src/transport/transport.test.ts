import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { certificate } from '../../../../test/certificate.ts'
import { needs } from '../../../../test/needs.ts'
import type { SipSession } from '../dialog/sip-session.ts'
import { topVia } from '../fields.ts'
import { header, type SipMessage, type SipRequest } from '../message.ts'
import { MessageFramer } from '../message-framer.ts'
import { printMessage } from '../print.ts'
import { buildResponse } from '../response.ts'
import { readUri } from '../uri.ts'
import {
  defaultHandlers,
  ManualTimers,
  noSessionEvents,
  octets,
  openAgent,
  readMessage,
  requestText,
  until,
} from '../user-agent/testing.ts'
import { UserAgent, type UserAgentHandlers } from '../user-agent/user-agent.ts'
import type { Flow } from './flow.ts'
import { locate, type SipResolver } from './locate.ts'
import { openTcp, type TcpSettings } from './tcp.ts'
import { WebSocketTransport } from './websocket-transport.ts'

const from = '<sip:us@127.0.0.1>'
const overTcp = (text: string) => octets(text.replace('SIP/2.0/UDP', 'SIP/2.0/TCP'))

/** A TCP peer that passes each received request to the test, which answers it. */
const listen = async (t: TestContext, take: (request: SipRequest, socket: Socket) => void) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const frames = new MessageFramer(
      (got) => {
        const message = readMessage(got)
        if (message.kind === 'request') take(message, socket)
      },
      () => {},
    )
    socket.on('data', (chunk: Buffer) => frames.push(chunk))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const bound = server.address()
  assert.ok(bound && typeof bound === 'object')
  return { port: bound.port, sockets }
}

const dial = async (t: TestContext, port: number) => {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const heard: SipMessage[] = []
  let raw = ''
  const frames = new MessageFramer(
    (got) => heard.push(readMessage(got)),
    () => {},
  )
  socket.on('data', (chunk: Buffer) => {
    raw += chunk.toString('latin1')
    frames.push(chunk)
  })
  return { socket, heard, raw: () => raw }
}

test('one connection carries many requests and is reopened after it broke', async (t) => {
  const peer = await listen(t, (request, socket) =>
    socket.write(printMessage(buildResponse(request, { status: 200, tag: 'b' }))),
  )
  const closed: string[] = []
  const { agent } = await openAgent(t, {
    handlers: { ...defaultHandlers, onClosed: (_, reason) => closed.push(reason) },
  })
  const options = () => agent.request('OPTIONS', { uri: `sip:p@127.0.0.1:${peer.port};transport=tcp`, from })
  const answers = await Promise.all([options(), options(), options()])
  assert.ok(answers.every(({ outcome }) => outcome === 'answered'))
  assert.equal(peer.sockets.length, 1)
  peer.sockets[0]?.destroy()
  await until(() => closed.length === 1)
  assert.equal((await options()).outcome, 'answered')
  assert.equal(peer.sockets.length, 2)
})

test('a request fails at once when its connection breaks or nothing listens at its target', async (t) => {
  const peer = await listen(t, (_, socket) => socket.destroy())
  const { agent } = await openAgent(t, { timers: new ManualTimers() })
  for (const port of [peer.port, 1]) {
    const outcome = await agent.request('OPTIONS', { uri: `sip:p@127.0.0.1:${port};transport=tcp`, from })
    assert.ok(outcome.outcome === 'failed' && outcome.why === 'unreachable')
  }
})

test('a stream is answered in chunks of any size, and a double CRLF is answered by CRLF', async (t) => {
  const { tcp } = await openAgent(t)
  const { socket, heard, raw } = await dial(t, tcp)
  const whole = Buffer.concat([
    overTcp(requestText('OPTIONS', tcp)),
    octets('\n\n'),
    overTcp(requestText('OPTIONS', tcp, '', { branch: 'z9hG4bK2' })),
  ])
  for (const octet of whole) socket.write(Buffer.from([octet]))
  await until(() => heard.length === 2)
  assert.match(raw(), /\r\n\r\n\r\nSIP|\r\n\r\nSIP/)
})

test('a peer that loses the framing or stays silent for too long is disconnected', async (t) => {
  const timers = new ManualTimers()
  const closed: string[] = []
  const { tcp } = await openAgent(t, {
    timers,
    handlers: { ...defaultHandlers, onClosed: (_, reason) => closed.push(reason) },
  })
  const lost = await dial(t, tcp)
  lost.socket.write('OPTIONS sip:a SIP/2.0\r\nContent-Length: -5\r\n\r\n')
  await until(() => closed.includes('the peer lost the framing'))
  const silent = await dial(t, tcp)
  silent.socket.write(overTcp(requestText('OPTIONS', tcp)))
  await until(() => silent.heard.length === 1)
  timers.advance(899_000)
  assert.equal(closed.length, 1)
  timers.advance(2_000)
  await until(() => closed.includes('silent for too long'))
})

test('connections above the limit are refused', async (t) => {
  const agent = new UserAgent({ handlers: defaultHandlers })
  t.after(() => agent.close())
  const settings: TcpSettings = { address: '127.0.0.1', port: 0, maxConnections: 2 }
  const { sentBy } = agent.transports.add(await openTcp(settings, agent.transports, agent.timers))
  const peers = [await dial(t, sentBy.port ?? 0), await dial(t, sentBy.port ?? 0), await dial(t, sentBy.port ?? 0)]
  await until(() => peers.some(({ socket }) => socket.destroyed))
  assert.equal(peers.filter(({ socket }) => socket.destroyed).length, 1)
})

test('a peer that does not read is disconnected before its backlog fills memory', async (t) => {
  const closed: string[] = []
  const flows: Flow[] = []
  const handlers: UserAgentHandlers = {
    ...defaultHandlers,
    onOptions: (_: SipRequest, flow: Flow) => {
      flows.push(flow)
      return { status: 200 }
    },
    onClosed: (_: Flow, reason: string) => closed.push(reason),
  }
  const { tcp } = await openAgent(t, { handlers })
  const { socket } = await dial(t, tcp)
  socket.write(overTcp(requestText('OPTIONS', tcp)))
  const flow = await until(() => flows[0])
  socket.pause()
  const piece = Buffer.alloc(60_000)
  let sent = 0
  while (flow.send(piece) && sent < 1_000) sent++
  assert.ok(sent < 200, `${sent} pieces were taken`)
  await until(() => closed.includes('the peer does not read'))
})

test(
  'TLS works in both directions, and a certificate of an untrusted authority is refused',
  needs('openssl'),
  async (t) => {
    const pair = certificate()
    const open = async (ca?: string) => {
      const agent = new UserAgent({ handlers: defaultHandlers })
      t.after(() => agent.close())
      const settings = { address: '127.0.0.1', port: 0, tls: pair, trustOf: () => (ca ? { ca, name: null } : null) }
      return { agent, tls: agent.transports.add(await openTcp(settings, agent.transports, agent.timers)) }
    }
    const [server, friend, stranger] = [await open(), await open(pair.cert), await open()]
    const uri = `sips:them@127.0.0.1:${server.tls.sentBy.port}`
    const good = await friend.agent.request('OPTIONS', { uri, from })
    assert.ok(good.outcome === 'answered' && good.response.status === 200)
    assert.equal(topVia(good.response).protocol, 'TLS')
    const bad = await stranger.agent.request('OPTIONS', { uri, from })
    assert.ok(bad.outcome === 'failed' && /certificate/.test(bad.reason))
  },
)

/** A user agent whose WebSockets browsers may open; each browser yields the messages it receives. */
const openForBrowsers = async (t: TestContext, handlers: UserAgentHandlers) => {
  const { agent } = await openAgent(t, { handlers })
  const settings = { protocol: 'WS', sentBy: { host: 'us.test', port: null } } as const
  const sockets = agent.transports.add(new WebSocketTransport(settings, agent.transports))
  const http = createHttp().listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => http.close())
  const server = new WebSocketServer({ server: http, handleProtocols: () => 'sip' })
  const flows: Flow[] = []
  server.on('connection', (socket, { socket: { remoteAddress = '', remotePort = 0 } }) =>
    flows.push(sockets.attach(socket, remoteAddress, remotePort)),
  )
  const bound = http.address()
  assert.ok(bound && typeof bound === 'object')
  const browse = async () => {
    const browser = new WebSocket(`ws://127.0.0.1:${bound.port}`, 'sip')
    t.after(() => browser.terminate())
    await once(browser, 'open')
    const heard: string[] = []
    browser.on('message', (data) => heard.push(String(data)))
    const flow = await until(() => flows.shift())
    return { browser, flow, next: () => until(() => heard.shift(), 'a message to the browser') }
  }
  return { agent, browse }
}

const overWs = (method: string, more = {}) =>
  octets(
    requestText(method, 0, '', more)
      .replace('UDP 127.0.0.1:5999;rport', 'WS x.invalid')
      .replace('127.0.0.1:5999', 'x.invalid'),
  )

test('a browser’s flow carries requests in both directions, and nothing is sent after it is closed', async (t) => {
  const { agent, browse } = await openForBrowsers(t, { ...defaultHandlers, onRegister: () => ({ status: 200 }) })
  const { browser, flow, next } = await browse()
  browser.send(overWs('REGISTER').toString().replace('Content-Length: 0\r\n', ''))
  const via = 'SIP/2.0/WS x.invalid;branch=z9hG4bKt1;received=127.0.0.1'
  assert.ok((await next()).startsWith(`SIP/2.0 200 OK\r\nVia: ${via}\r\n`))
  browser.send('\r\n\r\n')
  assert.equal(await next(), '\r\n')

  const response = agent.request('OPTIONS', { uri: 'sip:b@x.invalid;transport=ws', from, via: flow })
  const request = readMessage(await next())
  assert.ok(request.kind === 'request')
  assert.equal(topVia(request).host, 'us.test')
  browser.send(printMessage(buildResponse(request, { status: 200, tag: 'b' })))
  assert.equal((await response).outcome, 'answered')

  browser.close()
  await until(() => !flow.isOpen)
  const late = await agent.request('OPTIONS', { uri: 'sip:b@x.invalid;transport=ws', from, via: flow })
  assert.ok(late.outcome === 'failed' && late.why === 'unreachable')
})

test('a call survives the connection of its browser and continues over the next one', async (t) => {
  const sessions: SipSession[] = []
  const ends: string[] = []
  const { browse } = await openForBrowsers(t, {
    ...defaultHandlers,
    onInvite: (call) => {
      const session = call.accept({}, { ...noSessionEvents, ended: (why) => ends.push(why) })
      if (session) sessions.push(session)
    },
  })
  const first = await browse()
  first.browser.send(overWs('INVITE'))
  const answer = readMessage(await first.next())
  first.browser.send(overWs('ACK', { branch: 'z9hG4bKack', to: header(answer, 'To') }))
  const session = await until(() => sessions[0])
  first.browser.terminate()
  await until(() => !first.flow.isOpen)
  const unheard = await session.options()
  assert.ok(unheard.outcome === 'failed' && unheard.why === 'unreachable')
  assert.deepEqual(ends, [])

  const second = await browse()
  session.setFlow(second.flow)
  const response = session.options()
  const request = readMessage(await second.next())
  assert.ok(request.kind === 'request' && request.method === 'OPTIONS')
  second.browser.send(printMessage(buildResponse(request, { status: 200, tag: 'b' })))
  assert.equal((await response).outcome, 'answered')
  second.browser.send(overWs('BYE', { branch: 'z9hG4bKbye', to: header(answer, 'To'), cseq: 8 }))
  await until(() => ends.length === 1)
  assert.deepEqual(ends, ['remote'])
})

const names = (
  services: Record<string, { name: string; port: number; priority: number; weight: number }[]>,
): SipResolver => ({
  addresses: async (name) => ({ 'a.test': ['192.0.2.1', '2001:db8::1'], 'b.test': ['192.0.2.2'] })[name] ?? [],
  services: async (name) => services[name] ?? [],
  close: () => {},
})

test('a URI is located as in RFC 3263', async () => {
  const srv = {
    '_sip._udp.a.test': [
      { name: 'b.test', port: 5070, priority: 20, weight: 1 },
      { name: 'a.test', port: 5062, priority: 10, weight: 1 },
    ],
    '_sips._tcp.a.test': [{ name: 'b.test', port: 5081, priority: 1, weight: 1 }],
  }
  const at = async (uri: string) =>
    (await locate(readUri(uri), names(srv), () => 0.5)).map(
      ({ protocol, address, port }) => `${protocol} ${address} ${port}`,
    )
  assert.deepEqual(await at('sip:192.0.2.9'), ['UDP 192.0.2.9 5060'])
  assert.deepEqual(await at('sips:x@[2001:db8::9]'), ['TLS 2001:db8::9 5061'])
  assert.deepEqual(await at('sip:a.test:5080;transport=tcp'), ['TCP 192.0.2.1 5080', 'TCP 2001:db8::1 5080'])
  assert.deepEqual(await at('sip:a.test'), ['UDP 192.0.2.1 5062', 'UDP 2001:db8::1 5062', 'UDP 192.0.2.2 5070'])
  assert.deepEqual(await at('sips:a.test'), ['TLS 192.0.2.2 5081'])
  assert.deepEqual(await at('sip:b.test'), ['UDP 192.0.2.2 5060'])
  assert.deepEqual(await at('sip:b.test;maddr=10.0.0.1'), ['UDP 192.0.2.2 5060'])
  assert.deepEqual(await at('sip:unknown.test'), [])
})
