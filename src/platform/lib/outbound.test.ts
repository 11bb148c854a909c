import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { makeOutbound, type OutboundPolicy, type PostRequest } from './outbound.ts'
import { OutboundError } from './outbound-exchange.ts'

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port // they listen on TCP or UDP

const guard = (policy: Partial<OutboundPolicy> = {}) => {
  const outbound = makeOutbound({ allowPrivate: true, ...policy })
  after(outbound.close)
  return {
    judge: outbound.check,
    close: outbound.close,
    post: (url: string, options: Partial<PostRequest> = {}) =>
      outbound.post({ url, headers: {}, body: '{"a":"é"}', timeoutMs: 2_000, maxBytes: 1_000, ...options }),
  }
}

/** A receiver that counts its connections. */
const receive = async (listener: RequestListener) => {
  let connections = 0
  const server = http.createServer(listener)
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  after(() => server.closeAllConnections())
  return { port: portOf(server), connections: () => connections }
}

/** A receiver with raw responses. */
const speak = async (answer: (socket: Socket, nth: number) => void) => {
  let nth = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    answer(socket, ++nth)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { url: `http://127.0.0.1:${portOf(server)}/hook`, connections: () => nth }
}

const failure = async (promise: Promise<unknown>): Promise<OutboundError> => {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof OutboundError, `no OutboundError: ${error}`)
  return error
}

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

test('post sends a request unchanged and returns the response', async () => {
  const seen: unknown[] = []
  const { port } = await receive((request, response) => {
    const { method, url, headers } = request
    request.setEncoding('utf8').on('data', (body) => seen.push([method, url, headers.host, headers['x-own'], body]))
    request.on('end', () => response.writeHead(429, ['Retry-After', '7', 'Retry-After', '9']).end('later, ✓'))
  })
  const { post } = guard()
  const answer = await post(`http://localhost:${port}/a%20b?c=d&e=%2F`, { headers: { 'x-own': 'yes' } })
  assert.deepEqual(seen, [['POST', '/a%20b?c=d&e=%2F', `localhost:${port}`, 'yes', '{"a":"é"}']])
  assert.deepEqual(
    { ...answer, ms: 0, headers: null },
    { headers: null, status: 429, retryAfter: '7', excerpt: 'later, ✓', ms: 0 },
  )
})

test('a connection is reused for the same host only', async () => {
  const { port, connections } = await receive((request, response) => {
    request.resume().on('end', () => response.end())
  })
  const { post } = guard()
  for (let i = 0; i < 5; i++) await post(`http://127.0.0.1:${port}/${i}`)
  assert.equal(connections(), 1)
  await post(`http://localhost:${port}/`)
  assert.equal(connections(), 2, 'localhost has its own connection')
})

test('concurrent exchanges are limited per receiver and in all, and all complete', async () => {
  const [running, most] = [new Map<string, number>(), new Map<string, number>()]
  const change = (key: string, by: number) => {
    running.set(key, (running.get(key) ?? 0) + by)
    most.set(key, Math.max(most.get(key) ?? 0, running.get(key) ?? 0))
  }
  const listener: RequestListener = (request, response) => {
    const keys = [String(request.socket.localPort), 'all']
    for (const key of keys) change(key, 1)
    request.resume().on('end', async () => {
      await later(5)
      for (const key of keys) change(key, -1)
      response.end()
    })
  }
  const ports = await Promise.all([1, 2, 3].map(async () => (await receive(listener)).port))
  const { post } = guard({ concurrency: { each: 2, all: 5 } })
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) => post(`http://127.0.0.1:${ports[i % 20 === 0 ? 2 : i % 2]}/`)),
  )
  assert.ok(answers.every(({ status }) => status === 200))
  assert.ok(ports.every((port) => (most.get(String(port)) ?? 9) <= 2))
  assert.ok((most.get('all') ?? 9) <= 5)
  assert.equal(most.get(String(ports[0])), 2, 'the limit was reached')
})

test('post does not follow a redirect', async () => {
  const { port, connections } = await receive((request, response) => {
    request.resume().on('end', () => response.writeHead(307, { location: `http://127.0.0.1:${port}/again` }).end())
  })
  assert.equal((await guard().post(`http://127.0.0.1:${port}/`)).status, 307)
  assert.equal(connections(), 1)
})

test('post reads only the beginning of a huge response and closes the connection', async () => {
  let written = 0
  const { port } = await receive((request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    const fill = () => {
      while (!response.destroyed && response.write('€'.repeat(20_000))) written += 60_000
    }
    response.on('drain', fill)
    request.resume().on('end', fill)
  })
  const before = process.memoryUsage.rss()
  const { status, excerpt } = await guard().post(`http://127.0.0.1:${port}/`, { maxBytes: 100 })
  assert.deepEqual([status, excerpt], [200, '€'.repeat(33)])
  assert.ok(written < 50e6 && process.memoryUsage.rss() - before < 100e6, `the receiver could write ${written} bytes`)
})

test('an excerpt of any bytes is text that the database can store', async () => {
  const { port } = await receive((request, response) => {
    request.resume().on('end', () => response.end(Buffer.from([0x61, 0x00, 0xff, 0xc3, 0x62])))
  })
  assert.equal((await guard().post(`http://127.0.0.1:${port}/`)).excerpt, 'a\ufffd\ufffd\ufffdb')
})

test('a receiver that never completes the TLS handshake is given up after the time for a connection', async () => {
  const mute = await speak(() => undefined)
  const error = await failure(guard().post(mute.url.replace('http:', 'https:'), { connectMs: 50, timeoutMs: 60_000 }))
  assert.deepEqual([error.code, error.mayHaveArrived], ['connect', false])
})

test('the timeout bounds the total time of a slow response', async () => {
  const drip = (text: string) => (socket: Socket) => {
    let i = 0
    const timer = setInterval(() => socket.write(text[i++ % text.length] ?? ''), 20)
    socket.on('close', () => clearInterval(timer))
  }
  const { url } = await speak(drip(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(10_000)}`))
  const began = performance.now()
  assert.equal((await failure(guard().post(url, { timeoutMs: 300 }))).code, 'timeout')
  const endless = await speak((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
    drip('abc')(socket)
  })
  const { status } = await guard().post(endless.url, { timeoutMs: 300 })
  assert.equal(status, 200, 'the status was received')
  const mute = await speak(() => {})
  assert.equal((await failure(guard().post(mute.url, { timeoutMs: 300 }))).code, 'timeout')
  assert.ok(performance.now() - began < 10_000, 'the full response would have taken 200 s')
})

test('a response cut off in its body has a status; one cut off before it is an error', async () => {
  const cut = await speak((socket) => socket.end('HTTP/1.1 201 Created\r\ncontent-length: 9\r\n\r\nhalf'))
  const { status, excerpt } = await guard().post(cut.url)
  assert.deepEqual([status, excerpt], [201, 'half'])
  for (const words of ['', 'HTTP/1.1 200', 'HTTP/1.1 200 OK\r\nx: y\r\n', 'hello\r\n\r\n', 'SSH-2.0-OpenSSH_9\r\n']) {
    const { url } = await speak((socket) => socket.end(words))
    assert.equal((await failure(guard().post(url))).code, 'closed', words)
  }
})

test('oversized response headers are an error', async () => {
  const { url } = await speak((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'a'.repeat(1000)}\r\n`.repeat(100)}`),
  )
  assert.equal((await failure(guard().post(url))).code, 'closed')
})

test('a request on an idle connection that the receiver closed is sent again, once', async () => {
  const { url, connections } = await speak((socket, nth) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      // The next request finds the connection closed.
      socket.once('data', () =>
        nth === 1 ? socket.resetAndDestroy() : socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
      )
    })
  })
  const { post } = guard()
  assert.deepEqual([(await post(url)).status, (await post(url)).status, connections()], [200, 200, 2])
})

test('a connection that the receiver closes after its response is not reused', async () => {
  const { port, connections } = await receive((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { connection: 'close' }).end('ok'))
  })
  const { post } = guard()
  for (let i = 1; i <= 5; i++) {
    assert.equal((await post(`http://127.0.0.1:${port}/`)).excerpt, 'ok')
    assert.equal(connections(), i)
  }
})

test('bytes after a response are not read as the next response', async () => {
  const { url, connections } = await speak((socket, nth) => {
    const body = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`
    socket.on('data', () => socket.write(nth === 1 ? body('first') + body('forged') : body('second')))
  })
  const { post } = guard()
  assert.deepEqual([(await post(url)).excerpt, (await post(url)).excerpt, connections()], ['first', 'second', 2])
})

test('informational responses are skipped, except an unexpected 100', async () => {
  const before = (status: string) =>
    speak((socket) =>
      socket.write(`HTTP/1.1 ${status}\r\nx: y\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n`),
    )
  const { post } = guard()
  assert.equal((await post((await before('103 Early Hints')).url)).status, 202)
  assert.equal((await failure(post((await before('100 Continue')).url))).code, 'closed')
})

test('an unreachable receiver yields the code of its failure', async () => {
  const { port } = await receive(() => {})
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const free = portOf(closed)
  await new Promise((resolve) => closed.close(resolve))
  assert.equal((await failure(guard().post(`http://127.0.0.1:${free}/`))).code, 'connect')
  assert.equal((await failure(guard().post(`http://localhost:${free}/`))).code, 'connect')
  assert.equal((await failure(guard().post(`https://127.0.0.1:${port}/`))).code, 'tls')
})

test('an abort signal and close both end an exchange', async () => {
  const { url } = await speak(() => {})
  const { post, close } = guard()
  const signal = AbortSignal.timeout(50)
  assert.equal((await failure(post(url, { signal }))).code, 'closed')
  close()
  assert.equal((await failure(post(url))).code, 'closed')
})

test('proxies of the environment are not used', async () => {
  const proxy = await receive((_request, response) => response.end())
  const { port } = await receive(
    (request, response) => request.resume().on('end', () => response.end('direct')) && null,
  )
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) process.env[name] = `http://127.0.0.1:${proxy.port}`
  process.env.NODE_USE_ENV_PROXY = '1'
  assert.equal((await guard().post(`http://127.0.0.1:${port}/`)).excerpt, 'direct')
  assert.equal(proxy.connections(), 0)
})
