import { parseArgs } from 'node:util'
import { runStandalone } from '../standalone.ts'
import { supplierServer } from './supplier-server.ts'

/** Simulates the API of DIDWW, for tests. */
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
await runStandalone(server, Number(values.port))
