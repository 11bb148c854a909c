import pino from 'pino'
import { assemble } from '../../src/assemble.ts'
import { readConfig } from '../../src/config.ts'
import { makeSimulatorClient } from '../../src/domains/sandbox/simulator-client.ts'
import { startDeliveryEngine } from '../../src/domains/webhooks/delivery/delivery-engine.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { makeSeal } from '../../src/platform/lib/secret.ts'

// A process that only delivers webhooks: `deliverer.ts URL KEY NAME SECONDS`.
// KEY seals secrets, as hex. NAME identifies the process to receivers. SECONDS is the duration of its leases.
// Prints `ready`; a line on its standard input ends it.

const [, , url = '', key = '', name = '', seconds = ''] = process.argv
const parts = await assemble({
  config: readConfig({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_LOG: 'silent' }),
  db: connect({ url }),
  version: name,
  log: pino({ level: 'silent' }),
  seal: makeSeal(Buffer.from(key, 'hex')),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1',
})
const deliveries = startDeliveryEngine(parts, { leaseSeconds: Number(seconds) })
console.log('ready')
process.stdin.once('data', async () => {
  await deliveries.stop(5_000)
  process.exit(0)
})
// The parent has exited.
process.stdin.on('end', () => process.exit(1))
