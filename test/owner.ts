import pino from 'pino'
import { assemble } from '../src/assemble.ts'
import { readConfig } from '../src/config.ts'
import { makeInboundHandlers } from '../src/domains/msgapp/inbound.ts'
import { makeOperations } from '../src/domains/msgapp/operations/operations.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { connect } from '../src/platform/db/sql.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'

// A process for owner.test.ts, which stops and kills it: it runs the chat connections of a database, and reports so.

const [url = '', key = ''] = process.argv.slice(2)
const parts = await assemble({
  config: readConfig({ TRUNKLINE_LOG: 'silent', TRUNKLINE_SANDBOX: 'true' }),
  db: connect({ url }),
  version: '0.0.0-test',
  log: pino({ level: 'silent' }),
  seal: makeSeal(Buffer.from(key, 'hex')),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1:8080',
})
await parts.networks.start({ acts: makeOperations(parts), intake: makeInboundHandlers(parts) })
process.send?.('runs')
process.on('disconnect', () => process.exit())
