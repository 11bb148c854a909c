import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// Webhook receiver of bench/webhooks.ts and bench/msgapp.ts, in its own process. Prints its port. Answers every POST at
// once, except that hosts named `dead…` never answer. GET returns the delays from `sent_at` to arrival since the last
// GET, in milliseconds. Requests to hosts named `spare…` are answered but not counted.

let delays: number[] = []

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify(delays))
    delays = []
    return
  }
  const isDead = request.headers.host?.startsWith('dead')
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (part: string) => {
    body += part
  })
  request.on('end', () => {
    if (isDead) return
    const at = /sent_at"?[:=]([\d.]+)/.exec(body)?.[1]
    if (at && !request.headers.host?.startsWith('spare'))
      delays.push(performance.timeOrigin + performance.now() - Number(at))
    response.end('{}')
  })
})
// Exits when the parent process has ended.
process.stdin.on('close', () => process.exit(0)).resume()
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo // it listens on TCP
  console.log(port)
})
