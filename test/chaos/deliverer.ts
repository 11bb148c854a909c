import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { connect } from '../../src/db/sql.ts'
import { makeSeal } from '../../src/lib/secret.ts'
import { makeParts } from '../../src/parts.ts'
import { makeSimulator } from '../../src/sandbox/simulator.ts'
import { startDeliveries } from '../../src/webhooks/engine.ts'

// A process that delivers webhooks and does nothing else: `deliverer.ts URL KEY NAME SECONDS`, with the key that seals
// secrets as hex, the name by which receivers know it, and the seconds of its leases. Prints `ready`; a line tells it to end.

const [, , url = '', key = '', name = '', seconds = ''] = process.argv
const parts = await makeParts({
  config: readConfig({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_LOG: 'silent' }),
  db: connect({ url }),
  version: name,
  log: pino({ level: 'silent' }),
  seal: makeSeal(Buffer.from(key, 'hex')),
  simulator: makeSimulator(() => null),
  publicUrl: () => 'http://127.0.0.1',
})
const deliveries = startDeliveries(parts, { leaseSeconds: Number(seconds) })
console.log('ready')
process.stdin.once('data', async () => {
  await deliveries.stop(5_000)
  process.exit(0)
})
// Its parent is gone.
process.stdin.on('end', () => process.exit(1))
