import { once } from 'node:events'
import type { Server } from 'node:http'

/**
 * Runs a server as a program on 127.0.0.1. Prints `{"port"}` on one line once it listens. Exits on SIGTERM, SIGINT or
 * when standard input closes, because its parent is gone then.
 */
export const runStandalone = async (server: Server, port = 0): Promise<void> => {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: address && typeof address === 'object' ? address.port : 0 })}\n`)
  const stop = (): void => process.exit(0)
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.stdin.once('close', stop)
  process.stdin.once('error', stop)
  process.stdin.resume()
}
