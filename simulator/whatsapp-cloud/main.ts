import { once } from 'node:events'
import { graphServer } from './server.ts'

/**
 * The Graph API of a WhatsApp business account, for tests and laptops. Prints `{"port"}` on one line once it listens, on 127.0.0.1
 * alone; ends on SIGTERM, SIGINT, or when its standard input closes: its parent is gone then.
 */
const {
  SIMULATOR_ACCOUNT: account = '102030405060708',
  SIMULATOR_TOKEN: token = 'simulated-token',
  SIMULATOR_SECRET: secret = 'simulated-secret',
} = process.env
const server = graphServer({ account, token, secret })
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
process.stdout.write(`${JSON.stringify({ port: address && typeof address === 'object' ? address.port : 0 })}\n`)

const stop = (): void => process.exit(0)
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
process.stdin.once('close', stop)
process.stdin.once('error', stop)
process.stdin.resume()
