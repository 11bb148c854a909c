import { runStandalone } from '../standalone.ts'
import { graphServer } from './graph-server.ts'

/** Simulates the Graph API of a WhatsApp business account, for tests. */
const {
  SIMULATOR_ACCOUNT: account = '102030405060708',
  SIMULATOR_TOKEN: token = 'simulated-token',
  SIMULATOR_SECRET: secret = 'simulated-secret',
} = process.env
await runStandalone(graphServer({ account, token, secret }))
