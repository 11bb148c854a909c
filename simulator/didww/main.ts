import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { supplierServer } from './server.ts'

/**
 * A supplier of numbers for sandboxes and tests. Prints `{"port"}` on one line once it listens, on 127.0.0.1 alone; ends on
 * SIGTERM, SIGINT, or when its standard input closes: its parent is gone then.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'complete-ms': { type: 'string', default: '200' },
    empty: { type: 'boolean', default: false },
  },
})

const { SIMULATOR_KEY: key = 'simulated-key', SIMULATOR_SECRET: secret = 'simulated-secret' } = process.env
const server = supplierServer({
  key,
  secret,
  completeMs: Number(values['complete-ms']),
  isEmpty: values.empty,
})
server.listen(Number(values.port), '127.0.0.1')
await once(server, 'listening')
const address = server.address()
process.stdout.write(`${JSON.stringify({ port: address && typeof address === 'object' ? address.port : 0 })}\n`)

const stop = (): void => process.exit(0)
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
process.stdin.once('close', stop)
process.stdin.once('error', stop)
process.stdin.resume()
