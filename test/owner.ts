import pino from 'pino'
import { readConfig } from '../src/config.ts'
import { connect } from '../src/db/sql.ts'
import { makeSeal } from '../src/lib/secret.ts'
import { makeActs } from '../src/msgapp/acts.ts'
import { makeIntake } from '../src/msgapp/intake.ts'
import { makeParts } from '../src/parts.ts'
import { makeSimulator } from '../src/sandbox/simulator.ts'

// A process of its own for owner.test.ts, to be stopped and killed: runs the chat connections of a database, and says so.

const [url = '', key = ''] = process.argv.slice(2)
const parts = await makeParts({
  config: readConfig({ TRUNKLINE_LOG: 'silent', TRUNKLINE_SANDBOX: 'true' }),
  db: connect({ url }),
  version: '0.0.0-test',
  log: pino({ level: 'silent' }),
  seal: makeSeal(Buffer.from(key, 'hex')),
  simulator: makeSimulator(() => null),
  publicUrl: () => 'http://127.0.0.1:8080',
})
await parts.networks.start({ acts: makeActs(parts), intake: makeIntake(parts) })
process.send?.('runs')
process.on('disconnect', () => process.exit())
