import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A receiver of webhooks for bench/webhooks.ts and bench/msgapp.ts, as a process of its own. Prints its port. Answers every POST
// at once, but for those of hosts that begin with `dead`: those are never answered. GET gives the delays between `sent_at` and
// the arrival so far, in milliseconds, and begins anew; what came for hosts that begin with `spare` is not among them.

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
// Its parent is gone.
process.stdin.on('close', () => process.exit(0)).resume()
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo // it listens on TCP
  console.log(port)
})
