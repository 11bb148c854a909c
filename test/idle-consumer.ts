import pino from 'pino'
import { assemble } from '../src/assemble.ts'
import { readConfig } from '../src/config.ts'
import { makeSimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import { connect } from '../src/platform/db/sql.ts'
import { startWakeUps } from '../src/platform/db/wake-ups.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'
import { startRoles } from '../src/start-roles.ts'
import { until } from './platform.ts'

// A process with the role worker that polls nothing while it is woken: `idle-consumer.ts URL KEY`. KEY seals secrets, as
// hex. Prints `ready`; the end of its standard input ends it.

const [url = '', key = ''] = process.argv.slice(-2)
const log = pino({ level: 'silent' })
const db = connect({ url })
const wakeUps = startWakeUps({ url, db, log, isTrusted: true })
await until(async () => wakeUps.isListening())
const services = await assemble({
  config: { ...readConfig({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_LOG: 'silent' }), port: 0, roles: ['worker'] },
  db,
  wakeUps,
  version: '0.0.0',
  log,
  seal: makeSeal(Buffer.from(key, 'hex')),
  simulator: makeSimulatorClient(() => null),
  publicUrl: () => 'http://127.0.0.1',
})
await startRoles(services)
console.log('ready')
process.stdin.resume().on('end', () => process.exit(0))
